import Logs
import Queue
import SQLite
import System

/// Copies what can be read of a damaged database, row by row, each with its own number and its checksum proved.
///
/// First `begin` makes the database that takes the place of the damaged one: with all streams, with the ledgers as
/// they were, and with a `Remainder` that says what is not copied yet. That one is the queue from then on. `copy`
/// brings packets, rows and dead letters into it, as much at a time as there is room for. Each of its transactions
/// leaves a queue that is whole, so that it may end after any of them and go on in another life.
///
/// What is damaged is lost. A read error that may pass ends the salvage, which then goes on later: see `DamagedFile`.
struct Salvage {
    /// What else was lost.
    struct Losses {
        /// The old ledger could not be read, so it is unknown how many logs there were.
        var ledger = true
        /// Some remembered requests.
        var repeats = false
        /// What operators decided.
        var decisions = false
    }

    let damaged: Connection
    let file: DamagedFile
    let configuration: QueueConfiguration
    let saved: QueueDatabase
    var remainder: Remainder
    /// As the new database has it.
    var committed: Remainder
    var losses = Losses()
    var ids: IdentifierSupply
    /// Those of the new database, and forgotten ones.
    var streams: [Int64: SavedStream] = [:]
    /// Streams of the damaged database that the new one has forgotten.
    var forgotten: [Int64: StreamRecord] = [:]
    var ledgers: [String: Ledger] = [:]
    /// All packets that the damaged database names.
    var packets: [PacketRecord] = []
    /// Packets that their destination has stored, and where their rows lie: they are not copied.
    var acknowledged: [Int64: PacketPlace] = [:]
    /// The current transaction.
    var step = Step()

    struct SavedStream {
        let destination: String
        var nextPack: Int64
        /// Where the packets lie that the new database has, in order.
        var packets: [ClosedRange<Int64>] = []
    }

    struct Step {
        /// What it may still write, and what it has.
        var room = 0
        var bytes = 0
        /// Streams that got rows that are in no packet.
        var streams: Set<Int64> = []
        /// There is no room for another.
        var isOver = false
    }

    /// The damaged database must be one that still opens; else there is nothing to read.
    init(
        from damaged: Connection,
        in file: DamagedFile,
        into saved: QueueDatabase,
        _ configuration: QueueConfiguration,
        _ remainder: Remainder
    ) throws(SQLiteError) {
        self.damaged = damaged
        self.file = file
        self.configuration = configuration
        self.saved = saved
        self.remainder = remainder
        committed = remainder
        ids = IdentifierSupply(after: remainder.highest)
        try damaged.tolerateDamage()
    }

    /// No number in the damaged database is higher.
    static func highest(_ damaged: Connection, in file: DamagedFile) throws(SQLiteError) -> Int64 {
        try file.readable { () throws(SQLiteError) in try IdentifierSupply.highest(damaged) }
            ?? unknownHighest
    }

    /// Where the numbers cannot be read, any number up to this one may exist.
    static let unknownHighest: Int64 = 1 << 40

    /// Nil where damage hides even where the table begins.
    func damagedTable(
        _ columns: String,
        of name: String,
        key: String
    ) throws(SQLiteError) -> DamagedTable? {
        try file.readable { () throws(SQLiteError) in
            try DamagedTable(damaged, in: file, columns, of: name, key: key)
        }
    }
}

// MARK: - The new database

extension Salvage {
    /// Fails when the new database cannot be written, or on a read error that may pass.
    /// The remainders `noted` count where the damaged database does not say what earlier salvages have left.
    mutating func begin(
        acknowledged: [Int64: PacketPlace],
        noted: [Remainder] = []
    ) throws(SQLiteError) {
        try saved.write()
        try saved.settings.save(remainder.highest, as: IdentifierSupply.setting)
        try saveStreams()
        try saveLedgers(noted)
        for (number, place) in acknowledged { try saved.saveAcknowledgedAside(number, place) }
        try saved.commit()
        committed = remainder
        try saveDecisions()
        try saveRepeats()
        guard file.hasSkipped else { return }
        try saved.write()
        remainder.hasUnreadable = true
        try saved.save(remainder)
        try saved.commit()
        committed = remainder
    }

    private func saveStreams() throws(SQLiteError) {
        guard var table = try damagedTable("*", of: "streams", key: "id") else { return }
        try table.read(0...remainder.highest) { row throws(SQLiteError) in
            guard let stream = try? StreamRecord(mending: row) else { return }
            try saved.streams.add(stream)
        }
    }

    /// The old ledgers go on. All that they count as queued or dead is yet to be found, here or in what an earlier salvage
    /// has not copied yet.
    private mutating func saveLedgers(_ noted: [Remainder]) throws(SQLiteError) {
        try readLedgers()
        for (name, old) in ledgers {
            try saved.ledgers.save(remainder.begin(name, with: old), of: name)
        }
        let earlierOnes = try file.readable { () throws(SQLiteError) in
            try QueueDatabase.remainders(damaged)
        }
        let known = Set((earlierOnes ?? []).map(\.file))
        for earlier in (earlierOnes ?? []) + noted.filter({ !known.contains($0.file) }) {
            try saved.adopt(earlier)
            remainder.leaveOut(earlier)
        }
        let acknowledged = try file.readable { () throws(SQLiteError) in
            try QueueDatabase.acknowledgedAside(damaged)
        }
        for (number, place) in acknowledged ?? [:] {
            try saved.saveAcknowledgedAside(number, place)
        }
        try saved.save(remainder)
    }

    /// As many as can be read.
    private mutating func readLedgers() throws(SQLiteError) {
        do throws(SQLiteError) {
            let all = try damaged.prepare("SELECT * FROM ledger")
            while try all.step() { ledgers[all.text(0)] = Ledger(all).mended }
            losses.ledger = false
        } catch {
            // What could be read of it stands.
            try file.skip(error)
        }
    }
}

extension Salvage {
    /// Keeps what operators decided as far as it can be read; what is lost of it is as the configuration says.
    mutating func saveDecisions() throws(SQLiteError) {
        losses.decisions = true
        let table = try file.readable { () throws(SQLiteError) in
            try DecisionTable(damaged, WriteTransaction(damaged))
        }
        guard let table else { return }
        do throws(SQLiteError) {
            try saved.write()
            // A page that cannot be read ends the list: there are few.
            let settings = try file.readable { () throws(SQLiteError) in try table.settings() }
            losses.decisions = settings == nil
            for (name, value) in settings ?? [:] { try saved.decisions.set(name, to: value) }
            let entries = try file.readable { () throws(SQLiteError) in
                try table.entries(before: .max, limit: 1000)
            }
            for entry in (entries ?? []).reversed() { try saved.decisions.add(entry) }
            try saved.commit()
        } catch  where error.kind == .full {
            saved.rollBack()
        }
    }
}

extension Salvage {
    /// Keeps the memory of requests as far as it can be read. Nothing that was accepted depends on it: what is
    /// lost of it costs a log twice where a device sends a request once more.
    mutating func saveRepeats() throws(SQLiteError) {
        losses.repeats = true
        guard var table = try damagedTable("*", of: "repeats", key: "number") else { return }
        do throws(SQLiteError) {
            try saved.write()
            var isWhole = true
            try table.read(0...remainder.highest) { row throws(SQLiteError) in
                guard let request = try? RepeatRecord(row) else { return isWhole = false }
                try saved.repeats.add(request)
            }
            try saved.commit()
            losses.repeats = !isWhole || table.hasGaps
        } catch  where error.kind == .full {
            saved.rollBack()
        }
    }
}
