import Logs
import Queue
import SQLite
import System

enum IsolationOutcome {
    case done
    /// Rows changed on the disk or are missing. The packet is unchanged and must be repaired first.
    case damaged
    /// The packet is unchanged until there is this much room for dead letters.
    case waits(for: Int)
}

/// Splits refused packets to find the logs that SLS refuses.
final class PacketIsolation: StreamPart {
    let streams: StreamBook
    private let packets: PacketBook
    private let letters: DeadLetterBook

    init(_ packets: PacketBook, _ letters: DeadLetterBook) {
        streams = packets.streams
        self.packets = packets
        self.letters = letters
    }

    /// See `PacketEnd.isolate`. A packet that is not here is done. Adds at most `room` bytes.
    func isolate(
        _ number: Int64,
        because reason: DeathReason,
        room: Int
    ) throws(SQLiteError) -> IsolationOutcome {
        guard let packet = packets[number] else { return .done }
        var rows: [OpenRow] = []
        for row in try database.rows.stored(of: packet.record) {
            guard let open = OpenRow(row) else { return .damaged }
            rows.append(open)
        }
        guard rows.count == packet.rowCount else { return .damaged }
        var outcome = try takeOutLate(rows, of: packet, reason, room: room)
        if outcome == nil, packet.record.logs > 1 {
            outcome = try halve(rows, of: packet, room: room)
        } else if outcome == nil {
            outcome = try die(rows, of: packet, reason, room: room)
        }
        try streams.rest(packet.stream)
        return outcome ?? .done
    }

    /// Makes the remaining log a dead letter: every other log is known to be good.
    private func die(
        _ rows: [OpenRow],
        of packet: QueuedPacket,
        _ reason: DeathReason,
        room: Int
    ) throws(SQLiteError) -> IsolationOutcome {
        let stream = packet.stream
        let costs = rows.map { DeadRecord.cost(of: $0.logs.bytes, stream.key, reason) }
        let growth = costs.reduce(-packet.bytes, +)
        guard growth <= room else { return .waits(for: growth) }
        try packets.withdraw(packet)
        try packets.removeRows(of: packet)
        stream.destination.change { $0.queued -= Int64(packet.record.logs) }
        for row in rows {
            let ids = try letters.addLetters(
                entriesOf: row.logs,
                of: stream.key,
                received: row.record.received,
                because: reason,
                replays: row.replays
            )
            context.note(row.record, of: stream, .dead(ids))
        }
        return .done
    }

    /// Writes logs of a removed row as a new row at its place in the stream.
    func write(
        _ logs: EncodedLogs,
        _ payload: [UInt8],
        number: Int64,
        insteadOf row: OpenRow,
        _ stream: QueuedStream
    ) throws(SQLiteError) -> RowRecord {
        let record = RowRecord(
            id: number,
            logs: logs.count,
            raw: logs.bytes.count,
            size: payload.count,
            received: row.record.received
        )
        try database.rows.add(record, of: stream.id, replays: row.replays, payload)
        return record
    }

    // MARK: - Halves

    /// Splits a packet into two. It splits several rows between two of them and writes only the
    /// packets. It splits a single row itself, which adds a row, so that waits for room as dead
    /// letters do.
    func halve(
        _ rows: [OpenRow],
        of packet: QueuedPacket,
        room: Int
    ) throws(SQLiteError) -> IsolationOutcome {
        let stream = packet.stream
        let halves = rows.count == 1 ? try halves(of: rows[0]) : []
        let growth = halves.reduce(-packet.bytes) { $0 + $1.payload.count + RowRecord.overhead }
        guard halves.isEmpty || growth <= room else { return .waits(for: growth) }
        try packets.withdraw(packet)
        weight.weigh(stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        var first = PacketCut(.unlimited)
        var second = PacketCut(.unlimited)
        if halves.count == 2 {
            let (front, back) = try replace(rows[0], by: halves, of: stream)
            _ = first.take(front)
            _ = second.take(back)
        } else {
            let middle = Self.middle(of: rows.map(\.record.logs))
            for row in rows[..<middle] { _ = first.take(row.record) }
            for row in rows[middle...] { _ = second.take(row.record) }
        }
        try packets.enterPiece(second, of: stream)
        try packets.enterPiece(first, of: stream)
        return .done
    }

    /// The index of the first row of the second half, which has about half of the logs.
    private static func middle(of logs: [Int]) -> Int {
        let all = logs.reduce(0, +)
        var best = 1
        var before = logs[0]
        var sum = before
        for index in 1..<(logs.count - 1) {
            sum += logs[index]
            guard abs(2 * sum - all) < abs(2 * before - all) else { break }
            (best, before) = (index + 1, sum)
        }
        return best
    }

    private struct Half {
        let logs: EncodedLogs
        let payload: [UInt8]
    }

    private func halves(of row: OpenRow) throws(SQLiteError) -> [Half] {
        let halves = (try? row.logs.pieces(atMost: .max, logs: (row.logs.count + 1) / 2)) ?? []
        guard halves.count == 2 else { throw .damage("row \(row.record.id) cannot be cut") }
        return halves.map { Half(logs: $0, payload: LZ4.compress($0.bytes)) }
    }

    private func replace(
        _ row: OpenRow,
        by halves: [Half],
        of stream: QueuedStream
    ) throws(SQLiteError) -> (RowRecord, RowRecord) {
        let id = row.record.id
        let (front, back) = (halves[0], halves[1])
        try database.rows.remove(of: stream.id, id...id)
        let second = try numberForHalf(id + Int64(front.logs.count), of: row, stream)
        return (
            try write(front.logs, front.payload, number: id, insteadOf: row, stream),
            try write(back.logs, back.payload, number: second, insteadOf: row, stream)
        )
    }

    /// The number for the second half of a row. A row takes as many numbers as it has logs, so its
    /// second half has one before the next row. If an old copy of a row that a salvage brought back
    /// has it, the half goes after all rows of its stream. Rows that wait there must then be
    /// sealed, because a packet never lies after waiting rows.
    private func numberForHalf(
        _ wanted: Int64,
        of row: OpenRow,
        _ stream: QueuedStream
    ) throws(SQLiteError) -> Int64 {
        if wanted <= context.lastNumber, try database.rows.hasNone(in: row.record.id...wanted) {
            // The row may be the stream's last one.
            stream.waiting.begin(after: wanted)
            return wanted
        }
        let time = now()
        while !stream.waiting.isEmpty {
            stream.outlet.sealedBefore.append(try packets.seal(stream, time).number)
        }
        let number = try context.takeNumber()
        stream.waiting.begin(after: number)
        return number
    }

    // MARK: - Logs that were refused for their time

    /// Removes logs that SLS refused for their time. No other log is suspect then, so the rest of
    /// the packet goes out again as a whole. Returns nil if there was no such log.
    ///
    /// If dead letters have no room for all of these logs, only some die, and the packet comes back
    /// for the others. The room must suffice for several of many, because each round costs a
    /// request.
    func takeOutLate(
        _ rows: [OpenRow],
        of packet: QueuedPacket,
        _ reason: DeathReason,
        room: Int
    ) throws(SQLiteError) -> IsolationOutcome? {
        let stream = packet.stream
        let time = reason.serverTime ?? now()
        let sieve = TimeSieve(stream.destination.rules.lateLogs, now: time)
        // A queue that does not know the time cannot call logs late. The answer may know the time
        // first.
        guard reason.mayBeTime, time >= AgeBook.leastTime,
            rows.contains(where: { sieve.holdsBack($0.logs) })
        else { return nil }
        let death = TimeSieve.reason(reason)
        var left = packet.record.logs == 1 ? room + packet.bytes : room
        let costs = sieve.deaths(in: rows.map(\.logs)) {
            DeadRecord.cost(of: $0, stream.key, death)
        }
        let least = min(costs.reduce(0, +), max(costs.first ?? 0, leastBound(stream) / 32))
        guard least <= left else { return .waits(for: least - left + room) }

        try packets.withdraw(packet)
        weight.weigh(stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
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
            var ids: [Int64] = []
            for log in sifted.dead {
                let id = try letters.addLetter(
                    log.bytes,
                    of: stream.key,
                    received: row.record.received,
                    because: death,
                    replays: row.replays
                )
                ids.append(id)
            }
            if context.isWatched { note(sifted, of: row.record, stream, letters: ids) }
        }
        try packets.enterPiece(rest, of: stream)
        return .done
    }

    private func replace(
        _ row: OpenRow,
        by sifted: TimeSieve.Rest,
        of stream: QueuedStream,
        _ rest: inout PacketCut
    ) throws(SQLiteError) {
        try database.rows.remove(of: stream.id, row.record.id...row.record.id)
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
        // The policy that drops logs rewrites none, so the missing bytes belong to dropped logs.
        guard sifted.dropped > 0 else { return }
        let left = sifted.dead.reduce(sifted.kept.bytes.count) { $0 + $1.bytes.count }
        stream.destination.volumes.discarded += row.logs.bytes.count - left
    }

    /// Notes the logs that left the row, from the end: removing a log renumbers the later ones.
    private func note(
        _ sifted: TimeSieve.Rest,
        of row: RowRecord,
        _ stream: QueuedStream,
        letters ids: [Int64]
    ) {
        var end = sifted.gone.count
        while end > 0 {
            let last = sifted.gone[end - 1]
            var first = end - 1
            while first > 0, sifted.gone[first - 1] == sifted.gone[first] - 1 { first -= 1 }
            context.note(
                EndedLogs(
                    stream: context.name(of: stream),
                    numbers: row.id + Int64(sifted.gone[first])...row.id + Int64(last),
                    // A policy treats all late logs alike.
                    end: ids.isEmpty ? .discarded : .dead(Array(ids[first..<end])),
                    renumberedThrough: row.numbers.upperBound
                )
            )
            end = first
        }
    }

    private func leastBound(_ stream: QueuedStream) -> Int {
        min(configuration.bytesMax, stream.destination.rules.bytesMax ?? .max)
    }
}
