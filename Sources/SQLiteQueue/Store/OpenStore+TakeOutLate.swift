import Logs
import Queue
import SQLite

extension OpenStore {
    /// Where a log was refused for its time, no other needs to be suspected: without it the packet goes out
    /// again whole. Nil when there was none.
    ///
    /// Where not all of them have room as dead letters, those that have die, and the packet will be back for the
    /// others. For that there must be room for more than one or two of many: each time costs a request.
    func takeOutLate(
        _ rows: [OpenRow],
        of packet: QueuedPacket,
        _ reason: DeathReason,
        room: Int
    ) throws(SQLiteError) -> IsolationOutcome? {
        let stream = packet.stream
        let time = reason.serverTime ?? now()
        let sieve = TimeSieve(stream.destination.rules.lateLogs, now: time)
        // Who does not know the time cannot call others late. The answer may know it before the queue has
        // followed a clock that was just set.
        guard reason.mayBeTime, time >= Self.leastTime,
            rows.contains(where: { sieve.holdsBack($0.logs) })
        else { return nil }
        let death = TimeSieve.reason(reason)
        var left = packet.record.logs == 1 ? room + packet.bytes : room
        let costs = sieve.deaths(in: rows.map(\.logs)) {
            DeadRecord.cost(of: $0, stream.key, death)
        }
        let least = min(costs.reduce(0, +), max(costs.first ?? 0, leastBound(stream) / 32))
        guard least <= left else { return .waits(for: least - left + room) }

        try withdraw(packet)
        weigh(stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        var rest = PacketCut(.unlimited)
        for row in rows {
            guard sieve.holdsBack(row.logs) else {
                _ = rest.take(row.record)
                continue
            }
            let sifted = sieve.sift(row.logs) { log in
                let cost = DeadRecord.cost(of: log, stream.key, death)
                guard cost <= left else { return false }
                left -= cost
                return true
            }
            try replace(row, by: sifted, of: stream, &rest)
            for log in sifted.dead {
                try bury(
                    log.bytes,
                    of: stream.key,
                    received: row.record.received,
                    because: death
                )
            }
        }
        try enterPiece(rest, of: stream)
        return .done
    }

    /// Writes what is left of the row in its place.
    private func replace(
        _ row: OpenRow,
        by sifted: TimeSieve.Rest,
        of stream: QueuedStream,
        _ rest: inout PacketCut
    ) throws(SQLiteError) {
        try database.removeRows(of: stream.id, row.record.id...row.record.id)
        if sifted.kept.count > 0 {
            let payload = LZ4.compress(sifted.kept.bytes)
            let kept = try write(
                sifted.kept,
                payload,
                number: row.record.id,
                insteadOf: row,
                stream
            )
            _ = rest.take(kept)
        }
        stream.destination.change { ledger in
            ledger.queued -= Int64(sifted.dropped + sifted.dead.count)
            ledger.discarded += Int64(sifted.dropped)
        }
        // Where logs are dropped none is rewritten, so what is missing are those.
        guard sifted.dropped > 0 else { return }
        let left = sifted.dead.reduce(sifted.kept.bytes.count) { $0 + $1.bytes.count }
        stream.destination.volumes.discarded += row.logs.bytes.count - left
    }

    private func leastBound(_ stream: QueuedStream) -> Int {
        min(configuration.bytesMax, stream.destination.rules.bytesMax ?? .max)
    }
}
