import Queue
import SQLite
import System

// Copies in transactions, each as large as the room allows.
extension Salvage {
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

    /// Continues copying while there is room. Throws only if the new database cannot be used;
    /// earlier transactions stay. It calls `whenAllIsCopied` before the new database records the
    /// end, unless the damaged file may still have the only copy of logs.
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
    /// something, these tables have used up their attempts. Rows and dead letters are read once and
    /// have attempts of their own.
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
            streams[stream.id] = SavedStream(
                destination: stream.key.destination,
                nextPack: stream.nextPack
            )
        }
        for packet in try saved.packets.all() {
            streams[packet.stream]?.packets.append(packet.rows)
        }
        for id in streams.keys {
            streams[id]?.packets.sort { $0.lowerBound < $1.lowerBound }
        }
    }

    // MARK: - Transactions

    /// Reserves bytes in the current transaction. If they do not fit, commits it and begins the
    /// next one. Everything with a number up to `through` is in the current one.
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

    /// The bytes that a payload takes. Only a small payload takes less than whole pages. Each
    /// payload costs an entry in an index.
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
