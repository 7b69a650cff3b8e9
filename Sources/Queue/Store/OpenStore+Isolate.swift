import Logs
import System

extension OpenStore {
    /// See `PacketSource.isolate`. A packet that is not here was dealt with before. False when rows have
    /// changed on the disk, or lack: the packet is as it was, and must be mended first.
    func isolate(_ number: Int64, because reason: DeathReason) throws(SQLiteError) -> Bool {
        guard let packet = packets[number] else { return true }
        var rows: [OpenRow] = []
        for row in try database.storedRows(of: packet.record) {
            guard let open = OpenRow(row) else { return false }
            rows.append(open)
        }
        guard rows.count == packet.rowCount else { return false }
        if try !takeOutLate(rows, of: packet, reason) {
            if packet.record.logs > 1 {
                try halve(rows, of: packet)
            } else {
                try die(rows, of: packet, reason)
            }
        }
        try rest(packet.stream)
        return true
    }

    /// What is left when everything else is known to be well.
    private func die(
        _ rows: [OpenRow],
        of packet: QueuedPacket,
        _ reason: DeathReason
    ) throws(SQLiteError) {
        let stream = packet.stream
        try withdraw(packet)
        try removeRows(of: packet)
        stream.destination.change { $0.queued -= Int64(packet.record.logs) }
        for row in rows {
            try bury(
                entriesOf: row.logs,
                of: stream.key,
                received: row.record.received,
                because: reason
            )
        }
    }

    /// Where a log was refused for its time, no other needs to be suspected: without it the packet goes out
    /// again whole. False when there was none.
    private func takeOutLate(
        _ rows: [OpenRow],
        of packet: QueuedPacket,
        _ reason: DeathReason
    ) throws(SQLiteError) -> Bool {
        let stream = packet.stream
        let sieve = TimeSieve(stream.destination.rules.lateLogs, now: now())
        // A host that does not know the time cannot call others late.
        guard reason.mayBeTime, knowsTime, rows.contains(where: { sieve.holdsBack($0.logs) }) else {
            return false
        }
        try withdraw(packet)
        weigh(stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        var rest = PacketCut(.unlimited)
        for row in rows {
            guard sieve.holdsBack(row.logs) else {
                _ = rest.take(row.record)
                continue
            }
            let sifted = sieve.sift(row.logs)
            try database.removeRows(of: stream.id, row.record.id...row.record.id)
            if sifted.kept.count > 0 {
                _ = rest.take(
                    try write(sifted.kept, number: row.record.id, insteadOf: row, stream)
                )
            }
            stream.destination.change { ledger in
                ledger.queued -= Int64(sifted.dropped + sifted.dead.count)
                ledger.discarded += Int64(sifted.dropped)
            }
            for log in sifted.dead {
                try bury(
                    log.bytes,
                    of: stream.key,
                    received: row.record.received,
                    because: TimeSieve.reason(reason)
                )
            }
        }
        try enterPiece(rest, of: stream)
        return true
    }

    /// Writes logs of a row that was removed as a row at its place in the stream.
    func write(
        _ logs: EncodedLogs,
        number: Int64,
        insteadOf row: OpenRow,
        _ stream: QueuedStream
    ) throws(SQLiteError) -> RowRecord {
        let payload = LZ4.compress(logs.bytes)
        let record = RowRecord(
            id: number,
            logs: logs.count,
            raw: logs.bytes.count,
            size: payload.count,
            received: row.record.received
        )
        try database.add(record, of: stream.id, payload)
        return record
    }
}

extension PacketLimits {
    /// For rows that are a packet already.
    static let unlimited = PacketLimits(rawBytes: .max, logs: .max)
}
