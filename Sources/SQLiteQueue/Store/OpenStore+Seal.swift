import Queue
import SQLite
import System

extension OpenStore {
    /// Seals the stream's next packet: as many waiting rows as the limits allow, one at least.
    func seal(_ stream: QueuedStream, _ time: WallTime) throws(SQLiteError) -> SealedPacket {
        var cut = PacketCut(stream.destination.limits)
        var next: RowRecord?
        try database.rows(of: stream.id, after: stream.sealedThrough) { row in
            guard cut.take(row) else {
                next = row
                return false
            }
            return true
        }
        guard
            let record = cut.record(
                number: try ids.take(database),
                stream: stream.id,
                pack: stream.nextPack
            )
        else { throw SQLiteError.damage("waiting rows of stream \(stream.id) are gone") }
        let packet = try enter(record, cut, stream)
        changeWaiting(stream.destination, by: -packet.bytes)
        stream.sealedThrough = record.rows.upperBound
        stream.waitingRows -= cut.rows.count
        stream.waitingLogs -= cut.logs
        stream.waitingRaw -= cut.raw
        if let next { stream.oldest = min(begin(next), time) }
        scheduleNext(after: stream, time)
        return SealedPacket(packet, recent: recent.take(cut.rows))
    }

    /// Writes down a packet of the stream and counts it.
    @discardableResult
    func enter(
        _ record: PacketRecord,
        _ cut: PacketCut,
        _ stream: QueuedStream,
        isPiece: Bool = false
    ) throws(SQLiteError) -> QueuedPacket {
        try database.write()
        var record = record
        record.lane = isPiece ? stream.outlet.takeLaneBeside() : stream.outlet.takeLane()
        try database.add(record)
        stream.nextPack += 1
        try database.savePack(of: stream.id, next: stream.nextPack)
        let packet = QueuedPacket(
            record: record,
            stream: stream,
            rowCount: cut.rows.count,
            bytes: cut.size + cut.rows.count * RowRecord.overhead
        )
        enter(packet)
        return packet
    }

    func enter(_ packet: QueuedPacket) {
        packets[packet.record.number] = packet
        packet.stream.packetCount += 1
        packet.stream.outlet.packetCount += 1
        packet.stream.destination.packetCount += 1
        packet.stream.destination.queuedLogs += packet.record.logs
    }

    /// Forgets a packet, which was removed. Unless it is known to be stored at its destination its lane's key
    /// is not used again.
    func leave(_ packet: QueuedPacket, isDelivered: Bool = false) {
        packets[packet.record.number] = nil
        if let lane = packet.record.lane {
            packet.stream.outlet.free(lane, isDelivered: isDelivered)
        }
        packet.stream.packetCount -= 1
        packet.stream.outlet.packetCount -= 1
        packet.stream.destination.packetCount -= 1
        packet.stream.destination.queuedLogs -= packet.record.logs
    }

    /// Lets everything that waits for the destination be sealed as it is, the oldest first: that is also the
    /// order on the disk, and in another one each packet would touch pages of its own.
    func flush(_ name: String) {
        guard let destination = destinations[name] else { return }
        let waiting =
            everyStream
            .filter { $0.destination === destination && $0.waitingRows > 0 }
            .sorted { ($0.oldest, $0.id) < ($1.oldest, $1.id) }
        let time = now()
        for stream in waiting {
            stream.flushThrough = stream.lastRow
            stream.outlet.schedule(stream, time)
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
            recent: recent,
            lane: record.lane.map { Lane($0) },
            isRecovered: packet.wasHandedOver,
            isReplayed: packet.stream.replayed.contains(record.rows)
        )
    }
}
