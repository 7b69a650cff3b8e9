import System

extension OpenStore {
    /// Seals and gathers packets to hand over after the commit: those of an earlier life first, then
    /// from ripe streams in turn, for each destination as many as it asks for.
    func packets(for demand: [String: Int]) throws(SQLiteError) -> [SealedPacket] {
        var gathered: [SealedPacket] = []
        let time = now()
        for (name, count) in demand where count > 0 {
            guard let destination = destinations[name] else { continue }
            for _ in 0..<count {
                if let number = destination.sealedBefore.popFirst() {
                    guard let packet = packets[number] else { continue }
                    gathered.append(SealedPacket(packet, recent: nil))
                } else if let stream = destination.nextRipe(time) {
                    gathered.append(try seal(stream, time))
                    destination.schedule(stream)
                } else {
                    break
                }
            }
        }
        return gathered
    }

    /// Seals the stream's next packet: as many waiting rows as the limits allow, one at least.
    private func seal(_ stream: QueuedStream, _ time: WallTime) throws(SQLiteError) -> SealedPacket
    {
        let limits = stream.destination.limits
        var rows: [Int64] = []
        var logs = 0
        var raw = 0
        var size = 0
        var oldest = time
        var next: RowRecord?
        try database.rows(of: stream.id, after: stream.sealedThrough) { row in
            guard
                rows.isEmpty || raw + row.raw <= limits.rawBytes && logs + row.logs <= limits.logs
            else {
                next = row
                return false
            }
            rows.append(row.id)
            logs += row.logs
            raw += row.raw
            size += row.size
            oldest = min(oldest, row.received)
            return true
        }
        guard let first = rows.first, let last = rows.last else {
            throw SQLiteError.damage("waiting rows of stream \(stream.id) are gone")
        }
        let record = PacketRecord(
            number: try ids.take(database),
            stream: stream.id,
            rows: first...last,
            logs: logs,
            raw: raw,
            oldest: oldest,
            pack: stream.nextPack
        )
        stream.nextPack += 1
        try database.write()
        try database.add(record)
        try database.savePack(of: stream)

        stream.sealedThrough = last
        stream.waitingRows -= rows.count
        stream.waitingLogs -= logs
        stream.waitingRaw -= raw
        if let next { stream.oldest = min(next.received, time) }
        stream.packetCount += 1
        stream.destination.packetCount += 1
        let packet = QueuedPacket(
            record: record,
            stream: stream,
            rowCount: rows.count,
            bytes: size + rows.count * Self.rowOverhead
        )
        packets[record.number] = packet
        return SealedPacket(packet, recent: recent.take(rows))
    }

    /// Lets everything that waits for the destination be sealed as it is.
    func flush(_ name: String) {
        guard let destination = destinations[name] else { return }
        for stream in streams.values
        where stream.destination === destination && stream.waitingRows > 0 {
            stream.flushThrough = ids.last
            destination.schedule(stream)
        }
    }
}

extension SealedPacket {
    init(_ packet: QueuedPacket, recent: [StoredBlock]?) {
        let record = packet.record
        self.init(
            number: record.number,
            stream: packet.stream.key,
            streamID: record.stream,
            packID: packet.stream.packID(record.pack),
            rows: record.rows,
            logCount: record.logs,
            rawBytes: record.raw,
            oldest: record.oldest,
            recent: recent
        )
    }
}
