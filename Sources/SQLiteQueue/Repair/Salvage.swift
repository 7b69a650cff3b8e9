import Logs
import Queue
import SQLite
import System

/// Copies the readable content of a damaged database row by row. Each row keeps its number, and its
/// checksum is proved.
///
/// First `begin` makes the new database: all streams, the ledgers as they were, and a `Remainder`,
/// which describes what is not copied yet. From then on it is the queue. `copy` brings packets,
/// rows and dead letters into it, as much at a time as there is room for. Each transaction leaves a
/// whole queue, so the salvage may stop after any of them and continue after a restart.
///
/// Damaged content is lost. A read error that may pass ends the salvage, which continues later: see
/// `DamagedFile`.
struct Salvage {
    /// Other content that was lost.
    struct Losses {
        /// The old ledger could not be read, so the number of logs is unknown.
        var ledger = true
        /// Some remembered requests.
        var repeats = false
        /// Operators' decisions.
        var decisions = false
    }

    let damaged: Connection
    let file: DamagedFile
    let configuration: QueueConfiguration
    let saved: QueueDatabase
    var remainder: Remainder
    /// The remainder as the new database has it.
    var committed: Remainder
    var losses = Losses()
    var ids: IdentifierSupply
    /// The streams of the new database and the removed ones.
    var streams: [Int64: SavedStream] = [:]
    /// Streams of the damaged database that the new one has removed.
    var removedStreams: [Int64: StreamRecord] = [:]
    var ledgers: [String: Ledger] = [:]
    /// All packets in the damaged database.
    var packets: [PacketRecord] = []
    /// Stored packets, with the places of their rows. They are not copied.
    var acknowledged: [Int64: PacketPlace] = [:]
    /// The current transaction.
    var step = Step()

    struct SavedStream {
        let destination: String
        var nextPack: Int64
        /// The places of the new database's packets, in order.
        var packets: [ClosedRange<Int64>] = []

        init(_ record: StreamRecord) {
            destination = record.key.destination
            nextPack = record.nextPack
        }
    }

    struct Step {
        /// The bytes that the transaction may write. `bytes` counts those that it has written.
        var room = 0
        var bytes = 0
        /// Streams that got rows that are in no packet.
        var streams: Set<Int64> = []
        /// True if there is no room for another transaction.
        var isOver = false
    }

    /// The connection must be able to open the damaged database.
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

    /// The highest number to expect if the numbers are unreadable.
    static let unknownHighest: Int64 = 1 << 40

    /// Nil if damage hides the beginning of the table.
    func damagedTable(
        _ columns: String,
        of name: String,
        key: String
    ) throws(SQLiteError) -> DamagedTable? {
        try file.readable { () throws(SQLiteError) in
            try DamagedTable(damaged, in: file, columns, of: name, key: key)
        }
    }

    // MARK: - The new database

    /// Throws if the new database cannot be written, or on a read error that may pass. `noted`
    /// counts if the damaged database does not tell what earlier salvages left.
    mutating func begin(
        acknowledged: [Int64: PacketPlace],
        noted: [Remainder] = []
    ) throws(SQLiteError) {
        try saved.write()
        try saved.settings.save(remainder.highest, as: IdentifierSupply.setting)
        try saveStreams()
        try saveLedgers(noted)
        try saveIntake()
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

    /// All old queued and dead logs are still to be found, here or in an earlier remainder.
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

    /// Takes over the old tally, as far as it agrees with the ledgers.
    private func saveIntake() throws(SQLiteError) {
        let old = try file.readable { () throws(SQLiteError) in try IntakeTable.sums(damaged) }
        if let old = old.flatMap(\.self) { try saved.intake.save(old) }
        try saved.settleIntake()
    }

    /// Reads as many ledgers as possible.
    private mutating func readLedgers() throws(SQLiteError) {
        do throws(SQLiteError) {
            let all = try damaged.prepare("SELECT * FROM ledger")
            while try all.step() { ledgers[all.text(0)] = Ledger(all).mended }
            losses.ledger = false
        } catch {
            // The ledgers that were read stay valid.
            try file.skip(error)
        }
    }

    /// Keeps the readable decisions of operators. Lost ones go back to the configuration.
    mutating func saveDecisions() throws(SQLiteError) {
        losses.decisions = true
        let table = try file.readable { () throws(SQLiteError) in
            try DecisionTable(WriteTransaction(damaged))
        }
        guard let table else { return }
        do throws(SQLiteError) {
            try saved.write()
            // An unreadable page ends the list. There are few settings.
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

    /// No accepted log depends on it: a lost request costs a duplicate if a device repeats it.
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

    // Copies in transactions, each as large as the room allows.

    enum Outcome: Equatable {
        /// All readable content is copied, and this many logs are lost.
        case done(lost: Int64)
        /// The next piece does not fit.
        case noRoom
        /// A read error ended it, which may pass: see `DamagedFile.readError`.
        case unreadable
    }

    /// Returns the bytes that the next transaction may write.
    typealias Room = () throws(SQLiteError) -> Int

    /// Copies while there is room. Throws only if the new database cannot be used; earlier
    /// transactions stay. Calls `whenAllIsCopied` before the new database records the end, unless
    /// the damaged file may still have the only copy of logs.
    mutating func copy(
        _ room: Room,
        whenAllIsCopied: () -> Void
    ) throws(SQLiteError) -> Outcome {
        do throws(SQLiteError) {
            try readSaved()
            try readWholeTables()
            try copyPackets(room)
            try copyRows(room)
            try copyLetters(room)
        } catch  where step.isOver {
            return .noRoom
        } catch  where file.readError != nil || error.kind == .full {
            saved.rollBack()
            remainder = committed
            return file.readError == nil ? .noRoom : .unreadable
        }
        if !remainder.hasUnreadable { whenAllIsCopied() }
        return .done(lost: try Self.finish(remainder, in: saved))
    }

    /// Reads the tables that each step reads from the beginning. If an earlier step skipped
    /// something, they have used up their attempts. Rows and dead letters have attempts of their
    /// own.
    private mutating func readWholeTables() throws(SQLiteError) {
        let skipsRows = file.skipsUnreadable
        if remainder.hasUnreadable { file.skipsUnreadable = true }
        try readRemovedStreams()
        try readPackets()
        file.skipsUnreadable = skipsRows
    }

    /// Reads the present content of the new database.
    private mutating func readSaved() throws(SQLiteError) {
        ids = IdentifierSupply(after: try IdentifierSupply.highest(saved.connection))
        ledgers = try saved.ledgers.all()
        acknowledged = try QueueDatabase.acknowledgedAside(saved.connection)
        streams = [:]
        for stream in try saved.streams.all() {
            streams[stream.id] = SavedStream(stream)
        }
        for packet in try saved.packets.all() {
            streams[packet.stream]?.packets.append(packet.rows)
        }
        for id in streams.keys {
            streams[id]?.packets.sort { $0.lowerBound < $1.lowerBound }
        }
    }

    // MARK: - Transactions

    /// Reserves bytes, in the next transaction if they do not fit into this one. Everything up to
    /// `through` is in the current one.
    mutating func makeRoom(
        for bytes: Int,
        _ room: Room,
        through: Int64
    ) throws(SQLiteError) {
        if step.bytes + bytes > step.room {
            try end(through: through)
            let room = try room()
            guard bytes <= room else {
                step.isOver = true
                throw .unsuitable("no room is left")
            }
            // A piece that is larger than a usual transaction gets a transaction of its own.
            step.room = max(bytes, min(room, configuration.tuning.transactionBytes))
        }
        step.bytes += bytes
        try saved.write()
    }

    /// Commits the current transaction.
    mutating func end(through: Int64) throws(SQLiteError) {
        remainder.through = max(remainder.through, through)
        if file.hasSkipped { remainder.hasUnreadable = true }
        let touched = step.streams
        step = Step()
        try saved.write()
        for id in touched { try sealUnpackedRows(id) }
        for (name, ledger) in ledgers { try saved.ledgers.save(ledger, of: name) }
        try saved.settleIntake()
        try saved.save(remainder)
        try saved.commit()
        committed = remainder
        try saved.connection.checkpoint(.passive)
    }

    mutating func next(_ phase: Remainder.Phase) throws(SQLiteError) {
        remainder.phase = phase
        remainder.through = 0
        try end(through: 0)
    }

    /// The bytes that a payload takes, with an index entry. Only a small one takes less than a
    /// page.
    func cost(_ payload: Int) -> Int {
        let page = configuration.tuning.pageBytes
        let pages = payload < page / 4 ? 0 : (payload + page - 1) / page * page + page / 2
        return max(pages, payload + payload / 2) + 2 * RowRecord.overhead
    }

    // MARK: - The end

    /// Counts the logs that were not found as lost. Returns their number.
    static func finish(
        _ remainder: Remainder,
        in saved: QueueDatabase
    ) throws(SQLiteError) -> Int64 {
        var lost: Int64 = 0
        let ledgers = try saved.ledgers.all()
        try saved.write()
        for (name, old) in ledgers {
            let ledger = remainder.end(name, with: old)
            lost += ledger.discarded - old.discarded
            try saved.ledgers.save(ledger, of: name)
        }
        try saved.settleIntake()
        try saved.remove(remainder)
        try saved.commit()
        return lost
    }
}
