import Queue
import SQLite
import System

// Copies packets unchanged, so that SLS recognises a packet that it has stored already.
extension Salvage {
    mutating func readPackets() throws(SQLiteError) {
        packets = []
        guard var table = try damagedTable("*", of: "packets", key: "number") else { return }
        try table.read(0...remainder.highest) { row throws(SQLiteError) in
            guard let packet = try? PacketRecord(mending: row), streams[packet.stream] != nil else {
                return
            }
            packets.append(packet)
        }
    }

    mutating func copyPackets(_ room: Room) throws(SQLiteError) {
        guard remainder.phase == .packets else { return }
        var table = try damagedTable(StoredRow.columns, of: "rows", key: "id")
        for packet in packets where packet.number > remainder.through {
            let before = packet.number - 1
            if acknowledged[packet.number] != nil {
                try makeRoom(for: 0, room, through: before)
                settleAcknowledged(packet)
            } else if let rows = try wholeRows(of: packet, &table) {
                try copy(packet, rows, room)
            } else {
                try makeRoom(for: 0, room, through: before)
                remainder.broken.append(packet.number)
            }
        }
        try next(.rows)
    }

    private mutating func copy(
        _ packet: PacketRecord,
        _ rows: [StoredRow],
        _ room: Room
    ) throws(SQLiteError) {
        let bytes = rows.reduce(costOfBringingBack(packet.stream)) { $0 + cost($1.payload.count) }
        do throws(SQLiteError) {
            try makeRoom(for: bytes, room, through: packet.number - 1)
        } catch  where step.isOver {
            // While the queue is empty nothing can leave and make room, so the packet goes in
            // parts.
            let largest = rows.map { cost($0.payload.count) }.max() ?? 0
            guard try saved.rows.hasNone(in: 0...Int64.max), try room() >= largest else {
                throw error
            }
            step = Step()
            remainder.broken.append(packet.number)
            return
        }
        try bringBack(packet.stream)
        for row in rows {
            try saved.rows.add(row.record, of: row.stream, replays: row.replays, row.payload)
        }
        try saved.packets.add(packet)
        found(Int64(packet.logs), of: streams[packet.stream]?.destination ?? "")
        streams[packet.stream]?.add(packet.rows)
    }

    /// Copies nothing of the packet. The ledger counts it as delivered.
    private mutating func settleAcknowledged(_ packet: PacketRecord) {
        guard let name = streams[packet.stream]?.destination, var ledger = ledgers[name] else {
            return
        }
        remainder.delivered(Int64(packet.logs), of: name, in: &ledger)
        ledgers[name] = ledger
    }

    /// The packet's rows. Nil if some are missing.
    private func wholeRows(
        of packet: PacketRecord,
        _ table: inout DamagedTable?
    ) throws(SQLiteError) -> [StoredRow]? {
        var rows: [StoredRow] = []
        var logs = 0
        var raw = 0
        do throws(SQLiteError) {
            let first = packet.rows.lowerBound
            try table?.read(packet.rows, from: first) { statement throws(SQLiteError) in
                let row = StoredRow(statement)
                guard row.stream == packet.stream, row.isIntact else { return }
                rows.append(row)
                logs += row.record.logs
                raw += row.record.raw
                // A wrong range may contain all rows of the table.
                guard logs <= packet.logs, raw <= packet.raw else {
                    throw .unsuitable("more rows than the packet has")
                }
            }
        } catch {
            guard file.readError == nil else { throw error }
            return nil
        }
        return rows.isEmpty || logs != packet.logs || raw != packet.raw ? nil : rows
    }

    /// Seals the rows of the stream that lie before its last packet and belong to no packet, under
    /// new ids. Rows behind its last packet wait.
    mutating func sealUnpackedRows(_ stream: Int64) throws(SQLiteError) {
        guard let known = streams[stream], !known.packets.isEmpty else { return }
        let limits = configuration.rules(known.destination).packet
        var behind = known.packets[...]
        var cuts = [PacketCut(limits)]
        try saved.rows.visit(of: stream, after: 0) { row in
            while let first = behind.first, first.upperBound < row.id {
                behind.removeFirst()
                cuts.append(PacketCut(limits))
            }
            guard let next = behind.first else { return false }
            if !next.contains(row.id), !cuts[cuts.count - 1].take(row) {
                cuts.append(PacketCut(limits))
                _ = cuts[cuts.count - 1].take(row)
            }
            return true
        }
        for cut in cuts where !cut.rows.isEmpty {
            let pack = streams[stream]?.nextPack ?? 1
            let number = try ids.take(saved)
            guard var packet = cut.record(number: number, stream: stream, pack: pack) else {
                continue
            }
            if configuration.rules(known.destination).lanes > 0 { packet.lane = .anywhere() }
            try saved.packets.add(packet)
            streams[stream]?.add(packet.rows)
            streams[stream]?.nextPack = pack + 1
            try saved.streams.savePack(of: stream, next: pack + 1)
        }
    }
}

extension Salvage.SavedStream {
    /// Packets come nearly in their order.
    mutating func add(_ rows: ClosedRange<Int64>) {
        let index = packets.lastIndex { $0.lowerBound < rows.lowerBound }.map { $0 + 1 } ?? 0
        packets.insert(rows, at: index)
    }
}
