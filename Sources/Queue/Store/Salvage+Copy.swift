import System

extension Salvage {
    enum Outcome: Equatable {
        /// All that can be read is copied, and so many logs are lost.
        case done(lost: Int64)
        /// No room is left for the next piece.
        case noRoom
    }

    /// Says how many bytes the next transaction may write.
    typealias Room = () throws(SQLiteError) -> Int

    /// Copies on, in transactions, for as long as there is room. Fails only when the new database cannot be written; what it
    /// committed until then stays. `whenAllIsCopied` is called before the new database says so.
    mutating func copy(
        _ room: Room,
        whenAllIsCopied: () -> Void
    ) throws(SQLiteError) -> Outcome {
        do throws(SQLiteError) {
            try readSaved()
            try readPackets()
            try copyPackets(room)
            try copyRows(room)
            try copyLetters(room)
        } catch  where step.isOver {
            return .noRoom
        } catch  where error.kind == .full {
            saved.rollBack()
            remainder = committed
            return .noRoom
        }
        whenAllIsCopied()
        return .done(lost: try Self.finish(remainder, in: saved))
    }

    /// What the new database has by now.
    private mutating func readSaved() throws(SQLiteError) {
        ids = IdentifierSupply(after: try IdentifierSupply.highest(saved.connection))
        ledgers = try saved.ledgers()
        acknowledged = try QueueDatabase.acknowledgedAside(saved.connection)
        streams = [:]
        for stream in try saved.streams() {
            streams[stream.id] = SavedStream(
                destination: stream.key.destination,
                nextPack: stream.nextPack
            )
        }
        for packet in try saved.packets() {
            streams[packet.stream]?.packets.append(packet.rows)
        }
        for id in streams.keys {
            streams[id]?.packets.sort { $0.lowerBound < $1.lowerBound }
        }
        try bringBackStreams()
    }

    /// Streams of which all was delivered are forgotten, also when more of theirs is to be copied.
    private mutating func bringBackStreams() throws(SQLiteError) {
        guard var table = damagedTable("*", of: "streams", key: "id") else { return }
        var forgotten: [StreamRecord] = []
        try table.read(0...remainder.highest) { row throws(SQLiteError) in
            guard let stream = try? StreamRecord(mending: row), streams[stream.id] == nil else {
                return
            }
            forgotten.append(stream)
        }
        for stream in forgotten {
            // Each packet took a number since, so that no pack id is used again.
            let pack = stream.nextPack + (try ids.take(saved))
            try saved.write()
            try saved.add(
                StreamRecord(
                    id: stream.id,
                    key: stream.key,
                    packPrefix: stream.packPrefix,
                    nextPack: pack
                )
            )
            streams[stream.id] = SavedStream(destination: stream.key.destination, nextPack: pack)
        }
        try saved.commit()
    }

    private mutating func readPackets() throws(SQLiteError) {
        packets = []
        guard var table = damagedTable("*", of: "packets", key: "number") else { return }
        try table.read(0...remainder.highest) { row throws(SQLiteError) in
            guard let packet = try? PacketRecord(mending: row), streams[packet.stream] != nil else {
                return
            }
            packets.append(packet)
        }
    }

    // MARK: - Transactions

    /// Makes sure that the transaction at hand may write so many bytes more; otherwise it ends, and the next one begins. What
    /// has a number up to `through` is in it.
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
            // What is larger than a usual transaction is one of its own.
            step.room = max(bytes, min(room, configuration.tuning.transactionBytes))
        }
        step.bytes += bytes
        try saved.write()
    }

    /// Ends the transaction at hand, if there is one.
    mutating func end(through: Int64) throws(SQLiteError) {
        remainder.through = max(remainder.through, through)
        let touched = step.streams
        step = Step()
        try saved.write()
        for id in touched { try sealStrays(id) }
        for (name, ledger) in ledgers { try saved.save(ledger, of: name) }
        try saved.save(remainder)
        try saved.commit()
        committed = remainder
        try saved.connection.checkpoint(.passive)
    }

    private mutating func next(_ phase: Remainder.Phase) throws(SQLiteError) {
        remainder.phase = phase
        remainder.through = 0
        try end(through: 0)
    }

    /// Logs were found that wait, or are dead letters.
    mutating func found(_ logs: Int64, of destination: String, areDead: Bool = false) {
        remainder.savedLogs += logs
        var ledger = ledgers[destination] ?? Ledger()
        let own: WritableKeyPath<Remainder, [String: Int64]> = areDead ? \.dead : \.queued
        let other: WritableKeyPath<Remainder, [String: Int64]> = areDead ? \.queued : \.dead
        // What the ledger counts of one kind and is found of the other is not lost. What it does not count at all came.
        let known = max(0, min(logs, remainder[keyPath: own][destination] ?? 0))
        let changed = max(0, min(logs - known, remainder[keyPath: other][destination] ?? 0))
        remainder[keyPath: own][destination, default: 0] -= known
        remainder[keyPath: other][destination, default: 0] -= changed
        let new = logs - known - changed
        ledger.accepted += new
        if areDead {
            ledger.queued -= changed
            ledger.dead += changed + new
        } else {
            ledger.queued += changed + new
            ledger.dead -= changed
        }
        ledgers[destination] = ledger
    }

    // MARK: - Packets

    private mutating func copyPackets(_ room: Room) throws(SQLiteError) {
        guard remainder.phase == .packets else { return }
        var table = damagedTable(StoredRow.columns, of: "rows", key: "id")
        for packet in packets where packet.number > remainder.through {
            let before = packet.number - 1
            if acknowledged.contains(packet.number) {
                try makeRoom(for: 0, room, through: before)
                settleAcknowledged(packet)
            } else if let rows = try wholeRows(of: packet, &table) {
                let bytes = rows.reduce(0) { $0 + cost($1.payload.count) }
                do throws(SQLiteError) {
                    try makeRoom(for: bytes, room, through: before)
                } catch  where step.isOver {
                    // Where nothing can leave that would make room, it goes in parts.
                    let largest = rows.map { cost($0.payload.count) }.max() ?? 0
                    guard try saved.hasNoRows(0...Int64.max), try room() >= largest else {
                        throw error
                    }
                    step = Step()
                    remainder.broken.append(packet.number)
                    continue
                }
                for row in rows { try saved.add(row.record, of: row.stream, row.payload) }
                try saved.add(packet)
                found(Int64(packet.logs), of: streams[packet.stream]?.destination ?? "")
                streams[packet.stream]?.add(packet.rows)
            } else {
                try makeRoom(for: 0, room, through: before)
                remainder.broken.append(packet.number)
            }
        }
        try next(.rows)
    }

    /// The ledger learns what its destination has stored.
    private mutating func settleAcknowledged(_ packet: PacketRecord) {
        guard let name = streams[packet.stream]?.destination, ledgers[name] != nil else { return }
        let logs = min(Int64(packet.logs), max(0, remainder.queued[name] ?? 0))
        remainder.queued[name, default: 0] -= logs
        ledgers[name]?.queued -= logs
        ledgers[name]?.delivered += logs
    }

    /// Nil when they are not all there.
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
                // A range that is wrong may hold all rows there are.
                guard logs <= packet.logs, raw <= packet.raw else {
                    throw .unsuitable("more rows than the packet has")
                }
            }
        } catch {
            return nil
        }
        return rows.isEmpty || logs != packet.logs || raw != packet.raw ? nil : rows
    }

    // MARK: - Rows and dead letters

    private mutating func copyRows(_ room: Room) throws(SQLiteError) {
        guard remainder.phase == .rows else { return }
        if var table = damagedTable(StoredRow.columns, of: "rows", key: "id") {
            let places = placesOfPackets()
            var last = remainder.through
            let highest = remainder.highest
            try table.read(behind: last, upTo: highest) { statement throws(SQLiteError) in
                let row = StoredRow(statement)
                // A number that is damaged says nothing about what lies before it.
                guard row.isIntact else { return }
                defer { last = row.record.id }
                guard let destination = streams[row.stream]?.destination,
                    places[row.stream]?.holds(row.record.id) != true
                else { return }
                try makeRoom(for: cost(row.payload.count), room, through: last)
                try saved.add(try numbered(row.record), of: row.stream, row.payload)
                step.streams.insert(row.stream)
                found(Int64(row.record.logs), of: destination)
            }
        }
        try next(.letters)
    }

    /// Where the rows lie that belong to packets, copied or acknowledged, by stream.
    private func placesOfPackets() -> [Int64: [ClosedRange<Int64>]] {
        let broken = Set(remainder.broken)
        var places: [Int64: [ClosedRange<Int64>]] = [:]
        for packet in packets where !broken.contains(packet.number) {
            places[packet.stream, default: []].append(packet.rows)
        }
        return places.mapValues(\.merged)
    }

    /// A row that was cut in two since may have taken the number of one that an earlier version wrote.
    private mutating func numbered(_ row: RowRecord) throws(SQLiteError) -> RowRecord {
        guard try saved.hasRow(row.id) else { return row }
        return RowRecord(
            id: try ids.take(saved, count: max(row.logs, 1)),
            logs: row.logs,
            raw: row.raw,
            size: row.size,
            received: row.received
        )
    }

    private mutating func copyLetters(_ room: Room) throws(SQLiteError) {
        guard remainder.phase == .letters else { return }
        guard var table = damagedTable(DeadRecord.columns, of: "dead", key: "id") else { return }
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

    /// What is not small takes whole pages, and each costs an entry in an index.
    private func cost(_ payload: Int) -> Int {
        let page = configuration.tuning.pageBytes
        let pages = payload < page / 4 ? 0 : (payload + page - 1) / page * page + page / 2
        return max(pages, payload + payload / 2) + 2 * OpenStore.rowOverhead
    }

    // MARK: - The end

    /// What was not found is lost. Returns how many logs that are.
    static func finish(
        _ remainder: Remainder,
        in saved: QueueDatabase
    ) throws(SQLiteError) -> Int64 {
        var lost: Int64 = 0
        let ledgers = try saved.ledgers()
        try saved.write()
        for (name, old) in ledgers {
            var ledger = old
            ledger.close(
                queued: old.queued - (remainder.queued[name] ?? 0),
                dead: old.dead - (remainder.dead[name] ?? 0)
            )
            lost += ledger.discarded - old.discarded
            try saved.save(ledger, of: name)
        }
        try saved.remove(remainder)
        try saved.commit()
        return lost
    }
}

extension Salvage.SavedStream {
    /// Packets come nearly in their order.
    mutating func add(_ rows: ClosedRange<Int64>) {
        let index = packets.lastIndex { $0.lowerBound < rows.lowerBound }.map { $0 + 1 } ?? 0
        packets.insert(rows, at: index)
    }
}

extension [ClosedRange<Int64>] {
    /// In order and apart from each other, also where damaged ones overlap.
    fileprivate var merged: Self {
        var merged: Self = []
        for range in sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound <= last.upperBound {
                let end = Swift.max(last.upperBound, range.upperBound)
                merged[merged.count - 1] = last.lowerBound...end
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    /// Whether one of them holds the number. They are merged.
    fileprivate func holds(_ number: Int64) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].upperBound < number { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low].contains(number)
    }
}
