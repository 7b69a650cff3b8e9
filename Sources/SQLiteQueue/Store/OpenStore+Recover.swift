import Queue
import SQLite
import System

/// The findings of a start, for the journal and the status.
struct Recovery {
    var rows = 0
    var packets = 0
    /// The destinations whose ledgers disagreed with their rows, with both numbers of logs.
    var repaired: [(destination: String, counted: Int64, found: Int64)] = []
    /// The copies that the tally counted and those that the ledgers count, if they disagreed.
    var tallyRepaired: (counted: Int, found: Int)?
    /// True if the ledgers disagreed with a damaged index, which was rebuilt.
    var areIndexesRebuilt = false
    /// The version of the schema that was found; 0 for a new database.
    var schemaBefore = 0
}

extension OpenStore {
    /// Reads everything that the owner must know, without touching a payload, and compares the
    /// parts: it is also the integrity check of each start. Its cost grows with the number of rows,
    /// not with their bytes. Payloads have checksums, which are checked when they are read.
    ///
    /// Delivery already holds the packets `handed`. The others are handed over first.
    ///
    /// Unless it is `correctingLedgers`, it changes nothing on disk if a ledger disagrees, and this
    /// store is of no use.
    func recover(
        handed: Set<Int64>,
        ages: AgeBasis?,
        numbersAfter lastNumber: Int64 = 0,
        correctingLedgers: Bool = true
    ) throws(SQLiteError) -> Recovery {
        try files.makeLogCertain()
        // One transaction, because otherwise each of many small reads takes a lock of its own.
        try database.write()
        try context.recoverNumbers(after: lastNumber)
        try self.ages.recover(ages)
        for (name, ledger) in try database.ledgers.all() {
            destinations.named(name).recover(ledger)
        }
        try acknowledgements.recover()
        try absorptions.recover()
        try destinations.recoverProven()
        let records = try database.streams.all()
        var byID: [Int64: QueuedStream] = [:]
        byID.reserveCapacity(records.count)
        streams.reserve(records.count)
        for record in records {
            let stream = QueuedStream(
                record,
                destinations.outlet(destinations.addressed(record.key).outlet)
            )
            byID[record.id] = stream
            streams.enter(stream)
        }
        var queued: [String: Int64] = [:]
        try recoverPackets(byID, handed: handed)
        try recoverWaiting(byID, &queued)
        for packet in packets.all {
            queued[packet.stream.key.destination, default: 0] += Int64(packet.record.logs)
        }
        try letters.recover()
        for stream in streams.every {
            if stream.isEmpty {
                try streams.rest(stream)
            } else {
                streams.wake(stream, by: .unknown)
            }
        }
        try repeats.recover()
        let repaired = try closeLedgers(queued)
        guard repaired.isEmpty || correctingLedgers else {
            database.rollBack()
            return Recovery(repaired: repaired)
        }
        let tallyRepaired = try tally.recover(destinations.all.reduce(Ledger()) { $0 + $1.ledger })
        try commit()
        return Recovery(
            rows: weight.rows,
            packets: packets.count,
            repaired: repaired,
            tallyRepaired: tallyRepaired
        )
    }

    private func recoverPackets(
        _ byID: [Int64: QueuedStream],
        handed: Set<Int64>
    ) throws(SQLiteError) {
        for record in try database.packets.all() {
            guard let stream = byID[record.stream] else {
                throw .damage("packet \(record.number) has no stream")
            }
            let sums = try database.rows.sums(of: stream.id, record.rows)
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
            try packets.recover(packet)
            stream.waiting.begin(after: record.rows.upperBound)
            weight.weigh(stream.destination, bytes: packet.bytes, rows: packet.rowCount)
            try weight.check()
            if !handed.contains(record.number) {
                stream.outlet.sealedBefore.append(record.number)
            }
        }
        for destination in destinations.all {
            for outlet in destination.outlets.values { takeTurns(outlet) }
        }
    }

    /// Makes single-log packets take turns with the others. SLS will refuse most of them again if
    /// there are many, so they must not all go first.
    private func takeTurns(_ outlet: QueuedOutlet) {
        func isAlone(_ number: Int64) -> Bool { packets[number]?.record.logs == 1 }
        guard outlet.sealedBefore.count(where: isAlone) > QueuedOutlet.roomWaitersMax else {
            return
        }
        // Among packets of one size the last one comes first.
        for number in outlet.sealedBefore.removeAll(where: isAlone).reversed() {
            outlet.pieces.insert(number, logs: 1)
        }
    }

    /// Finds the waiting rows of all streams in one walk: a third of the time of asking for each
    /// one's.
    func recoverWaiting(
        _ byID: [Int64: QueuedStream],
        _ queued: inout [String: Int64]
    ) throws(SQLiteError) {
        var found = 0
        var stream: QueuedStream?
        var waiting = WaitingSums()
        var bytes = 0
        try database.rows.visitAll { row, id throws(SQLiteError) in
            found += 1
            if id != stream?.id {
                if let stream { try recover(waiting, bytes: bytes, of: stream, &queued) }
                stream = byID[id]
                guard let stream else { throw .damage("rows belong to no stream (\(id))") }
                waiting = stream.waiting
                bytes = 0
            }
            guard row.id > waiting.sealedThrough else { return }
            waiting.add(row, since: ages.begin(row))
            bytes += row.size + RowRecord.overhead
        }
        if let stream { try recover(waiting, bytes: bytes, of: stream, &queued) }
        guard found == weight.rows else {
            throw .damage("\(found - weight.rows) rows belong to no packet")
        }
    }

    private func recover(
        _ waiting: WaitingSums,
        bytes: Int,
        of stream: QueuedStream,
        _ queued: inout [String: Int64]
    ) throws(SQLiteError) {
        guard !waiting.isEmpty else { return }
        stream.waiting = waiting
        weight.weighWaiting(stream.destination, bytes: bytes, rows: waiting.rows)
        try weight.check()
        queued[stream.key.destination, default: 0] += Int64(waiting.logs)
        stream.outlet.schedule(stream, now())
    }

    /// Makes the ledger agree with the rows and dead letters, which are right. The difference goes
    /// where an operator sees it.
    func closeLedgers(
        _ queued: [String: Int64]
    ) throws(SQLiteError) -> [(destination: String, counted: Int64, found: Int64)] {
        for name in queued.keys { _ = destinations.named(name) }
        var repaired: [(destination: String, counted: Int64, found: Int64)] = []
        for destination in destinations.all {
            let aside = acknowledgements.aside(of: destination.name)
            let found = (queued[destination.name] ?? 0) + aside.queued
            let dead = Int64(destination.deadLetters) + aside.dead
            let before = destination.ledger
            guard before.queued != found || before.dead != dead || !before.isClosed else {
                continue
            }
            repaired.append((destination.name, before.queued + before.dead, found + dead))
            destination.change { $0.close(queued: found, dead: dead) }
        }
        return repaired
    }
}
