import Queue
import SQLite
import System

/// What start-up found, for the journal and the status.
struct Recovery {
    var rows = 0
    var packets = 0
    /// Logs by which ledgers and rows did not agree, and the destinations it concerned.
    var repaired: [(destination: String, counted: Int64, found: Int64)] = []
    /// The version of the schema that was found; 0 for a new database.
    var schemaBefore = 0
}

extension OpenStore {
    /// Reads everything that the owner must know, without touching a payload. Reading all of what it
    /// relies on, and comparing the parts, is also the integrity check of each start: its cost grows with
    /// the number of rows, not with their bytes. Payloads have checksums and are checked when they are read.
    ///
    /// Packets that delivery holds already are `handed`; the others are handed over first.
    func recover(handed: Set<Int64>, ages: AgeBasis?) throws(SQLiteError) -> Recovery {
        try makeLogCertain()
        // In one transaction: otherwise each of many small reads takes a lock of its own.
        try database.write()
        ids = IdentifierSupply(after: try IdentifierSupply.highest(database.connection))
        try recoverAges(ages)
        for (name, ledger) in try database.ledgers() { destination(name).ledger = ledger }
        remainders = try QueueDatabase.remainders(database.connection)
        try recoverProven()
        let records = try database.streams()
        var byID: [Int64: QueuedStream] = [:]
        byID.reserveCapacity(records.count)
        streams.reserveCapacity(records.count)
        for record in records {
            let stream = QueuedStream(record, outlet(addressed(record.key).outlet))
            byID[record.id] = stream
            enter(stream)
        }
        var queued: [String: Int64] = [:]
        try recoverPackets(byID, handed: handed)
        try recoverWaiting(byID, &queued)
        for packet in packets.values {
            queued[packet.stream.key.destination, default: 0] += Int64(packet.record.logs)
        }
        try recoverLetters()
        for stream in everyStream {
            if stream.isEmpty { try rest(stream) } else { wake(stream, by: .unknown) }
        }
        try recoverRepeats()
        let repaired = try closeLedgers(queued)
        try commit()
        return Recovery(rows: rows, packets: packets.count, repaired: repaired)
    }

    /// Makes certain that the log that was found at opening is on the disk. Until it is nothing may be accepted: a sync
    /// may have failed in an earlier life, and commits behind frames that never reached the disk would be lost with them.
    ///
    /// `WALRewrite` does that, and comes first: it proves each frame, and a checkpoint proves none. Instead of a frame that
    /// never reached the disk a checkpoint would move into the database what the file has in its place.
    ///
    /// The checkpoint behind it makes the next commit begin the log from its start. A reader, such as `sluice backup`, keeps
    /// the log where it is for as long as it reads, and nobody waits for that. Where the disk has no room to write the log
    /// once more, it stays uncertain: delivering the logs that are there matters more, and housekeeping tries again. Between
    /// transactions only.
    func makeLogCertain() throws(SQLiteError) {
        guard !isLogCertain else { return }
        do throws(SQLiteError) {
            if fileSize(database.path + "-wal") ?? 0 > 0 { try rewriteLog() }
            isLogCertain = true
            if try database.connection.checkpoint(.restart) == .nothing { try checkSize() }
        } catch {
            guard error.kind == .full else { throw error }
        }
    }

    /// A file that was cut off is found now, not when its lost end is first read. That takes an empty log.
    private func checkSize() throws(SQLiteError) {
        let pages = try database.connection.integer("PRAGMA page_count")
        let pageSize = try database.connection.integer("PRAGMA page_size")
        let expected = Int(pages * pageSize)
        guard let found = fileSize(database.path), found >= expected else {
            throw .damage("the file is shorter than the \(expected) bytes it should have")
        }
    }

    private func rewriteLog() throws(SQLiteError) {
        // No other connection may write to the log meanwhile.
        try database.write()
        let frames = database.connection.committedFrames()
        let log = database.path + "-wal"
        let written: Int
        do throws(SystemError) {
            written = try WALRewrite.run(log)
        } catch {
            database.rollBack()
            throw .system(error, log)
        }
        try database.commit()
        // While a reader is there, SQLite believes the shared index of the log and not the file.
        guard written >= frames else {
            throw .damage("only \(written) of \(frames) pages in its log can be proved")
        }
    }

    private func recoverPackets(
        _ byID: [Int64: QueuedStream],
        handed: Set<Int64>
    ) throws(SQLiteError) {
        for record in try database.packets() {
            guard let stream = byID[record.stream] else {
                throw .damage("packet \(record.number) has no stream")
            }
            let sums = try database.sums(of: stream.id, record.rows)
            guard sums.rows > 0, sums.logs == record.logs, sums.raw == record.raw else {
                throw .damage("packet \(record.number) does not match its rows")
            }
            let packet = QueuedPacket(
                record: record,
                stream: stream,
                rowCount: sums.rows,
                bytes: sums.size + sums.rows * RowRecord.overhead,
                wasHandedOver: true
            )
            enter(packet)
            try recoverLane(of: packet)
            stream.sealedThrough = max(stream.sealedThrough, record.rows.upperBound)
            weigh(stream.destination, bytes: packet.bytes, rows: packet.rowCount)
            try checkWeight()
            if !handed.contains(record.number) {
                stream.outlet.sealedBefore.append(record.number)
            }
        }
        for destination in destinations.values {
            for outlet in destination.outlets.values { takeTurns(outlet) }
        }
    }

    /// Many packets of one log each are what is left of refused ones, and most of them will be refused again: they
    /// must not go before all others.
    private func takeTurns(_ outlet: QueuedOutlet) {
        func isAlone(_ number: Int64) -> Bool { packets[number]?.record.logs == 1 }
        guard outlet.sealedBefore.count(where: isAlone) > QueuedOutlet.roomWaitersMax else {
            return
        }
        // Of one size the last comes first.
        for number in outlet.sealedBefore.removeAll(where: isAlone).reversed() {
            outlet.pieces.insert(number, logs: 1)
        }
    }

    /// Each is plausible, and so must be their sum.
    func checkWeight() throws(SQLiteError) {
        guard Plausible.counts.contains(Int64(bytes)) else {
            throw .damage("rows cannot have \(bytes) bytes")
        }
    }

    private func recoverLetters() throws(SQLiteError) {
        for sum in try database.dead.sums() {
            deadSums.add(sum)
            count(destination(sum.destination), letters: sum.letters, cost: sum.bytes)
            try checkWeight()
        }
    }
}
