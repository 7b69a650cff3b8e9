import Logs
import Queue
import SQLite

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
            // In an empty queue nothing can leave and make room, so the packet goes in parts.
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

    /// Seals the stream's rows before its last packet that belong to none. Rows behind it wait.
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

// Copies rows that belong to no packet, and dead letters.
extension Salvage {
    mutating func copyRows(_ room: Room) throws(SQLiteError) {
        guard remainder.phase == .rows else { return }
        if var table = try damagedTable(StoredRow.columns, of: "rows", key: "id") {
            let places = placesOfPackets()
            let stored = placesOfStoredPackets()
            var last = remainder.through
            let highest = remainder.highest
            try table.read(behind: last, upTo: highest) { statement throws(SQLiteError) in
                let row = StoredRow(statement)
                // A damaged number says nothing about the rows before it.
                guard row.isIntact else { return }
                defer { last = row.record.id }
                guard let destination = streams[row.stream]?.destination,
                    places[row.stream]?.contains(row.record.id) != true
                else { return }
                if stored[row.stream]?.contains(row.record.id) == true {
                    try makeRoom(for: 0, room, through: last)
                    return delivered(Int64(row.record.logs), of: destination)
                }
                let bytes = cost(row.payload.count) + costOfBringingBack(row.stream)
                try makeRoom(for: bytes, room, through: last)
                try bringBack(row.stream)
                let record = try numbered(row.record)
                try saved.rows.add(record, of: row.stream, replays: row.replays, row.payload)
                step.streams.insert(row.stream)
                found(Int64(row.record.logs), of: destination)
            }
        }
        try next(.letters)
    }

    /// The rows of packets that were copied or are acknowledged, by stream.
    private func placesOfPackets() -> [Int64: MergedRanges] {
        let broken = Set(remainder.broken)
        var places: [Int64: [ClosedRange<Int64>]] = [:]
        for packet in packets where !broken.contains(packet.number) {
            places[packet.stream, default: []].append(packet.rows)
        }
        return places.mapValues(MergedRanges.init)
    }

    /// The rows of packets that SLS has stored, by stream. Their places come from delivery: the
    /// damaged database may have a wrong range, or no record of the packet.
    private func placesOfStoredPackets() -> [Int64: MergedRanges] {
        var places: [Int64: [ClosedRange<Int64>]] = [:]
        for place in acknowledged.values {
            places[place.stream, default: []].append(place.rows)
        }
        return places.mapValues(MergedRanges.init)
    }

    /// Gives the row a new number if its own is taken, as by another copy of the row.
    private mutating func numbered(_ row: RowRecord) throws(SQLiteError) -> RowRecord {
        guard try saved.rows.has(row.id) else { return row }
        var row = row
        row.id = try ids.take(saved, count: max(row.logs, 1))
        return row
    }

    mutating func copyLetters(_ room: Room) throws(SQLiteError) {
        guard remainder.phase == .letters else { return }
        guard var table = try damagedTable(DeadRecord.columns, of: "dead", key: "id") else {
            return
        }
        var last = remainder.through
        try table.read(behind: last, upTo: remainder.highest) { statement throws(SQLiteError) in
            let letter = StoredLetter(statement)
            guard letter.isIntact else { return }
            defer { last = letter.record.id }
            guard letter.record.log != nil else { return }
            try makeRoom(for: cost(letter.cost), room, through: last)
            try saved.dead.add(letter.record)
            found(1, of: letter.record.stream.destination, areDead: true)
        }
        try end(through: last)
    }

    // MARK: - Ledgers

    mutating func found(_ logs: Int64, of destination: String, areDead: Bool = false) {
        var ledger = ledgers[destination] ?? Ledger()
        remainder.found(logs, of: destination, areDead: areDead, in: &ledger)
        ledgers[destination] = ledger
    }

    private mutating func delivered(_ logs: Int64, of destination: String) {
        guard var ledger = ledgers[destination] else { return }
        remainder.delivered(logs, of: destination, in: &ledger)
        ledgers[destination] = ledger
    }

    // MARK: - Streams

    /// Reads streams that the new database has removed because their logs were delivered, although
    /// more may still be to be copied.
    mutating func readRemovedStreams() throws(SQLiteError) {
        removedStreams = [:]
        guard var table = try damagedTable("*", of: "streams", key: "id") else { return }
        try table.read(0...remainder.highest) { row throws(SQLiteError) in
            guard let stream = try? StreamRecord(mending: row), streams[stream.id] == nil else {
                return
            }
            removedStreams[stream.id] = stream
        }
        for (id, stream) in removedStreams {
            streams[id] = SavedStream(stream)
        }
    }

    /// The cost of a removed stream besides the row that is copied.
    func costOfBringingBack(_ stream: Int64) -> Int {
        guard let stream = removedStreams[stream] else { return 0 }
        return cost(stream.key.trailer.bytes.count + stream.key.logstore.utf8.count)
    }

    /// Brings a removed stream back before its first row is copied. There must be room for it.
    mutating func bringBack(_ id: Int64) throws(SQLiteError) {
        guard let stream = removedStreams.removeValue(forKey: id) else { return }
        // Each packet took a number since, so no pack id is used again.
        let pack = stream.nextPack + (try ids.take(saved))
        try saved.streams.add(
            StreamRecord(id: id, key: stream.key, packPrefix: stream.packPrefix, nextPack: pack)
        )
        streams[id]?.nextPack = pack
    }
}

/// Separate ranges of row numbers, in order.
private struct MergedRanges {
    private var ranges: [ClosedRange<Int64>] = []

    /// Damaged ranges may overlap.
    init(_ ranges: [ClosedRange<Int64>]) {
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = self.ranges.last, range.lowerBound <= last.upperBound {
                let end = max(last.upperBound, range.upperBound)
                self.ranges[self.ranges.count - 1] = last.lowerBound...end
            } else {
                self.ranges.append(range)
            }
        }
    }

    func contains(_ number: Int64) -> Bool {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
        }
        return low < ranges.count && ranges[low].contains(number)
    }
}
