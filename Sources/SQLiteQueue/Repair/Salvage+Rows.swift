import Logs
import Queue
import SQLite
import System

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

    /// The rows, by stream, of packets that were copied completely, or were not copied because they
    /// are acknowledged.
    private func placesOfPackets() -> [Int64: MergedRanges] {
        let broken = Set(remainder.broken)
        var places: [Int64: [ClosedRange<Int64>]] = [:]
        for packet in packets where !broken.contains(packet.number) {
            places[packet.stream, default: []].append(packet.rows)
        }
        return places.mapValues(MergedRanges.init)
    }

    /// The rows, by stream, of packets that SLS has stored. Their places come from delivery: the
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
        return RowRecord(
            id: try ids.take(saved, count: max(row.logs, 1)),
            logs: row.logs,
            raw: row.raw,
            size: row.size,
            received: row.received
        )
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

    /// Reads streams that the new database no longer has: it removes a stream when all its logs are
    /// delivered, even if more of them are still to be copied.
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
            streams[id] = SavedStream(
                destination: stream.key.destination,
                nextPack: stream.nextPack
            )
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
