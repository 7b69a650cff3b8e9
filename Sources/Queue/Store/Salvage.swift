import Logs
import System

/// Copies what can be read of a damaged database into a new one, row by row, each with its own number
/// and its checksum proved.
struct Salvage {
    struct Report {
        var savedLogs: Int64 = 0
        /// Queued by the old ledger and not found; they are counted as discarded.
        var lostLogs: Int64 = 0
        /// The old ledger could not be read, so that nobody knows how many were.
        var isAccountLost = true
        /// The new database found no room for everything.
        var isCutShort = false
        /// Some remembered requests could not be read.
        var repeatsAreLost = false
        /// What operators decided could not be read.
        var decisionsAreLost = false
    }

    let damaged: Connection
    let file: DamagedFile
    let configuration: QueueConfiguration
    let saved: QueueDatabase
    var ids: IdentifierSupply
    let highest: Int64
    var streams: [Int64: SavedStream] = [:]
    var ledgers: [String: Ledger] = [:]
    var report = Report()
    /// Packets that their destination has stored: they are done, whatever is left of them.
    private let acknowledged: Set<Int64>
    /// All others that could be read, and where the rows of those lie that are done.
    private(set) var packets: [PacketRecord] = []
    private var done: [Int64: [ClosedRange<Int64>]] = [:]

    struct SavedStream {
        let destination: String
        var nextPack: Int64
    }

    /// The damaged database must be one that still opens; else there is nothing to read.
    init(
        from damaged: Connection,
        in file: DamagedFile,
        into saved: QueueDatabase,
        _ configuration: QueueConfiguration,
        acknowledged: Set<Int64>
    ) throws(SQLiteError) {
        self.acknowledged = acknowledged
        self.damaged = damaged
        self.file = file
        self.configuration = configuration
        self.saved = saved
        try damaged.tolerateDamage()
        // Where not even the highest number can be read, any number may exist.
        highest = (try? IdentifierSupply.highest(damaged)) ?? 1 << 40
        ids = IdentifierSupply(after: highest)
    }

    /// Saves everything there is; fails only when the new database cannot be written at all.
    mutating func run() throws(SQLiteError) -> Report {
        readLedgers()
        try saveStreams()
        try readPackets()
        do throws(SQLiteError) {
            try saveRows()
        } catch  where error.kind == .full {
            // What was committed is safe; the rest stays in the file that was moved aside.
            saved.rollBack()
            report.isCutShort = true
        }
        try savePackets()
        do throws(SQLiteError) {
            try saveLetters()
        } catch  where error.kind == .full {
            saved.rollBack()
            report.isCutShort = true
        }
        try closeLedgers()
        try saveRepeats()
        try saveDecisions()
        return report
    }

    /// Nil where it is not even known to be there.
    func damagedTable(_ columns: String, of name: String, key: String) -> DamagedTable? {
        try? DamagedTable(damaged, in: file, columns, of: name, key: key)
    }

    /// As many as can be read.
    private mutating func readLedgers() {
        guard let all = try? damaged.prepare("SELECT * FROM ledger") else { return }
        do throws(SQLiteError) {
            while try all.step() { ledgers[all.text(0)] = Ledger(all).mended }
            report.isAccountLost = false
        } catch {
            // What could be read of it stands.
        }
    }

    private mutating func saveStreams() throws(SQLiteError) {
        try saved.write()
        try saved.save(highest, as: IdentifierSupply.setting)
        try saved.commit()
        guard var table = damagedTable("*", of: "streams", key: "id") else { return }
        try saved.write()
        try table.read(0...highest) { row throws(SQLiteError) in
            guard let stream = try? StreamRecord(mending: row) else { return }
            try saved.add(stream)
            streams[stream.id] = SavedStream(
                destination: stream.key.destination,
                nextPack: stream.nextPack
            )
        }
        try saved.commit()
    }

    private mutating func readPackets() throws(SQLiteError) {
        guard var table = damagedTable("*", of: "packets", key: "number") else { return }
        try table.read(0...highest) { row throws(SQLiteError) in
            guard let packet = try? PacketRecord(mending: row), let stream = streams[packet.stream]
            else {
                return
            }
            guard acknowledged.contains(packet.number) else { return packets.append(packet) }
            done[packet.stream, default: []].append(packet.rows)
            ledgers[stream.destination]?.delivered += Int64(packet.logs)
            ledgers[stream.destination]?.queued -= Int64(packet.logs)
        }
    }

    private mutating func saveRows() throws(SQLiteError) {
        guard var table = damagedTable(StoredRow.columns, of: "rows", key: "id") else { return }
        var uncommitted = 0
        try table.read(0...highest) { statement throws(SQLiteError) in
            let row = StoredRow(statement)
            guard row.isIntact, streams[row.stream] != nil else { return }
            guard done[row.stream]?.contains(where: { $0.contains(row.record.id) }) != true else {
                return
            }
            try saved.write()
            try saved.add(row.record, of: row.stream, row.payload)
            uncommitted += row.payload.count
            guard uncommitted > 4 << 20 else { return }
            uncommitted = 0
            try saved.commit()
            try saved.connection.checkpoint(.passive)
        }
        try saved.commit()
    }
}
