import Logs
import Queue
import SQLite
import System

/// What became of a packet that was to be isolated.
enum IsolationOutcome {
    case done
    /// Rows have changed on the disk, or lack: the packet is as it was, and must be mended first.
    case damaged
    /// As it was, until so many bytes of room are there for dead letters.
    case waits(for: Int)
}

extension OpenStore {
    /// See `PacketSource.isolate`. A packet that is not here was dealt with before. It adds no more than
    /// `room` to the bounds.
    func isolate(
        _ number: Int64,
        because reason: DeathReason,
        room: Int
    ) throws(SQLiteError) -> IsolationOutcome {
        guard let packet = packets[number] else { return .done }
        var rows: [OpenRow] = []
        for row in try database.storedRows(of: packet.record) {
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
        try rest(packet.stream)
        return outcome ?? .done
    }

    /// What is left when everything else is known to be well.
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
        return .done
    }

    /// Writes logs of a row that was removed as a row at its place in the stream.
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
        try database.add(record, of: stream.id, payload)
        return record
    }
}
