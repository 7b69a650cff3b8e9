import Queue
import SQLite
import System

/// The packets that are sealed and not acknowledged.
final class PacketBook: StreamPart {
    let streams: StreamBook
    private let recent: RecentPayloads
    private var packets: [Int64: QueuedPacket] = [:]

    init(_ streams: StreamBook, _ recent: RecentPayloads) {
        self.streams = streams
        self.recent = recent
    }

    subscript(number: Int64) -> QueuedPacket? { packets[number] }

    /// Notes that the packet was handed over. From then on it may be sent under its lane.
    func markHandedOver(_ number: Int64) { packets[number]?.wasHandedOver = true }

    /// Notes another lane, under which the packet was not handed over yet.
    func changeLane(of number: Int64, to lane: PacketLane?) {
        packets[number]?.record.lane = lane
        packets[number]?.wasHandedOver = false
    }

    var all: some Collection<QueuedPacket> { packets.values }
    var count: Int { packets.count }

    // MARK: - Sealing

    /// Seals the stream's next packet: as many waiting rows as the limits allow, at least one.
    func seal(_ stream: QueuedStream, _ time: WallTime) throws(SQLiteError) -> SealedPacket {
        var cut = PacketCut(stream.destination.limits)
        var next: RowRecord?
        try database.rows.visit(of: stream.id, after: stream.waiting.sealedThrough) { row in
            guard cut.take(row) else {
                next = row
                return false
            }
            return true
        }
        guard
            let record = cut.record(
                number: try context.takeNumber(),
                stream: stream.id,
                pack: stream.nextPack
            )
        else { throw SQLiteError.damage("waiting rows of stream \(stream.id) are gone") }
        guard record.rows.lowerBound > stream.waiting.sealedThrough,
            cut.rows.count <= stream.waiting.rows
        else {
            throw SQLiteError.damage(
                "\(cut.rows.count) rows of stream \(stream.id) wait, and \(stream.waiting.rows) are known"
            )
        }
        let packet = try enter(record, cut, stream)
        weight.changeWaiting(stream.destination, by: -packet.bytes)
        stream.waiting.seal(cut, through: record.rows.upperBound)
        if let next { stream.waiting.setOldest(min(ages.begin(next), time)) }
        streams.scheduleNext(after: stream, time)
        return SealedPacket(packet, of: configuration.shard, recent: recent.take(cut.rows))
    }

    @discardableResult
    private func enter(
        _ record: PacketRecord,
        _ cut: PacketCut,
        _ stream: QueuedStream,
        isPiece: Bool = false
    ) throws(SQLiteError) -> QueuedPacket {
        precondition(packets[record.number] == nil, "two packets with one number")
        try database.write()
        var record = record
        record.lane = stream.outlet.takeLane(forPiece: isPiece)
        try database.packets.add(record)
        stream.nextPack += 1
        try database.streams.savePack(of: stream.id, next: stream.nextPack)
        let packet = QueuedPacket(
            record: record,
            stream: stream,
            rowCount: cut.rows.count,
            bytes: cut.size + cut.rows.count * RowRecord.overhead
        )
        enter(packet)
        return packet
    }

    /// Hands rows over as a packet of their own, in turn with everything else; nil: no rows.
    @discardableResult
    func enterPiece(
        _ cut: PacketCut,
        of stream: QueuedStream
    ) throws(SQLiteError) -> QueuedPacket? {
        guard !cut.rows.isEmpty else { return nil }
        guard
            let record = cut.record(
                number: try context.takeNumber(),
                stream: stream.id,
                pack: stream.nextPack
            )
        else { throw .damage("rows of stream \(stream.id) are out of their order") }
        let piece = try enter(record, cut, stream, isPiece: true)
        weight.weigh(stream.destination, bytes: piece.bytes, rows: piece.rowCount)
        stream.outlet.pieces.insert(record.number, logs: record.logs)
        return piece
    }

    private func enter(_ packet: QueuedPacket) {
        packets[packet.record.number] = packet
        packet.stream.packetCount += 1
        packet.stream.outlet.packetCount += 1
        packet.stream.destination.packetCount += 1
        packet.stream.destination.queuedLogs += packet.record.logs
    }

    func recover(_ packet: QueuedPacket) throws(SQLiteError) {
        let number = packet.record.number
        guard packets[number] == nil else { throw .damage("packet \(number) is there twice") }
        enter(packet)
        try recoverLane(of: packet)
    }

    // MARK: - Leaving

    /// Removes a packet that its destination has stored, with its rows.
    func removeDelivered(_ packet: QueuedPacket) throws(SQLiteError) {
        try database.write()
        try database.packets.remove(packet.record.number)
        leave(packet, isDelivered: true)
        try removeRows(of: packet)
    }

    /// Takes back a packet that is not acknowledged. Its rows will leave, or go out in other
    /// packets. Every packet ends here or in `removeDelivered`. The caller removes its weight and
    /// its rows.
    func withdraw(_ packet: QueuedPacket) throws(SQLiteError) {
        try database.write()
        try database.packets.remove(packet.record.number)
        leave(packet)
    }

    /// Removes a packet from memory. Its lane's key is used again only if the packet is stored.
    private func leave(_ packet: QueuedPacket, isDelivered: Bool = false) {
        packets[packet.record.number] = nil
        if let lane = packet.record.lane {
            let outlet = packet.stream.outlet
            if isDelivered { outlet.lanes.acknowledged(lane) } else { outlet.lanes.abandoned(lane) }
        }
        packet.stream.packetCount -= 1
        packet.stream.outlet.packetCount -= 1
        packet.stream.destination.packetCount -= 1
        packet.stream.destination.queuedLogs -= packet.record.logs
    }

    /// Removes the rows of a packet that `leaves` selects; the others go out as a new packet. If it
    /// selects none, nothing changes. Delivery must not hold the packet. The caller counts the logs
    /// and bytes that left.
    func removeRows(
        of packet: QueuedPacket,
        where leaves: (RowRecord) -> Bool
    ) throws(SQLiteError) -> (logs: Int, raw: Int) {
        let stream = packet.stream
        let rows = packet.record.rows
        var gone: [RowRecord] = []
        var rest = PacketCut(.unlimited)
        try database.rows.visit(of: stream.id, after: rows.lowerBound - 1) { row in
            guard row.id <= rows.upperBound else { return false }
            if leaves(row) {
                gone.append(row)
            } else {
                _ = rest.take(row)
            }
            return true
        }
        guard gone.count + rest.rows.count == packet.rowCount else {
            throw .damage("packet \(packet.record.number) lacks rows")
        }
        guard !gone.isEmpty else { return (0, 0) }
        try withdraw(packet)
        for row in gone { try database.rows.remove(of: stream.id, row.id...row.id) }
        weight.weigh(stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        try enterPiece(rest, of: stream)
        return (packet.record.logs - rest.logs, gone.reduce(0) { $0 + $1.raw })
    }

    func removeRows(of packet: QueuedPacket) throws(SQLiteError) {
        let record = packet.record
        let removed = try database.rows.remove(of: record.stream, record.rows)
        guard removed == packet.rowCount else {
            throw .damage(
                "packet \(record.number) has \(removed) rows, not \(packet.rowCount)"
            )
        }
        weight.weigh(packet.stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
    }

    /// See `PacketEnd.discard`. Returns the number of logs.
    func discard(_ number: Int64) throws(SQLiteError) -> Int {
        guard let packet = packets[number] else { return 0 }
        let stream = packet.stream
        if context.isWatched {
            for row in try database.rows.stored(of: packet.record) {
                context.note(row.record, of: stream, .discarded)
            }
        }
        try withdraw(packet)
        try removeRows(of: packet)
        stream.destination.count(packet.record.logs, packet.record.raw, .discarded)
        try streams.rest(stream)
        return packet.record.logs
    }

    /// Repairs a packet that delivery could not read: rows that are not the stored ones count as
    /// discarded. The rest goes out as a new packet, since its content differs. Returns the lost
    /// logs.
    func mend(_ number: Int64) throws(SQLiteError) -> Int {
        guard let packet = packets[number] else { return 0 }
        var broken: [RowRecord] = []
        var remainder = PacketCut(.unlimited)
        for row in try database.rows.stored(of: packet.record) {
            if OpenRow(row) != nil {
                _ = remainder.take(row.record)
            } else {
                broken.append(row.record)
            }
        }
        guard broken.count + remainder.rows.count == packet.rowCount else {
            throw .damage("packet \(number) lacks rows")
        }
        guard !broken.isEmpty else {
            packet.stream.outlet.sealedBefore.append(number)
            return 0
        }
        try withdraw(packet)
        for row in broken {
            try database.rows.remove(of: packet.stream.id, row.id...row.id)
            context.note(row, of: packet.stream, .discarded)
        }
        // The broken rows' own numbers may be what is broken, so this uses the packet's.
        weight.weigh(packet.stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        let lost = packet.record.logs - remainder.logs
        let lostBytes = max(0, packet.record.raw - remainder.raw)
        packet.stream.destination.count(lost, lostBytes, .discarded)
        try enterPiece(remainder, of: packet.stream)
        try streams.rest(packet.stream)
        return lost
    }

    // The lane is part of the packet's row. It changes in the transactions that seal, acknowledge
    // and remove packets, and costs no statement of its own.

    /// Enters the lane of a packet that was read at a start. Of two packets with one lane, which is
    /// damage, the later one gets another.
    func recoverLane(of packet: QueuedPacket) throws(SQLiteError) {
        let outlet = packet.stream.outlet
        guard let lane = packet.record.lane else { return }
        guard !outlet.lanes.enter(lane, of: outlet.laneCount) else { return }
        try give(packet, outlet.lanes.takeOneMore())
    }

    func relane(_ number: Int64) throws(SQLiteError) {
        guard let packet = self[number] else { return }
        let outlet = packet.stream.outlet
        if let lane = packet.record.lane {
            if outlet.laneCount > 0 {
                try give(packet, outlet.lanes.replace(lane))
            } else {
                // The operator has switched lanes off, maybe because SLS refuses them all.
                outlet.lanes.abandoned(lane)
                try give(packet, nil)
            }
        }
        outlet.sealedBefore.append(number)
    }

    /// See `DeliveryRequest.setAside`. Also used for a packet that waits for something else.
    func setAside(_ number: Int64) {
        guard let packet = self[number], let lane = packet.record.lane else { return }
        packet.stream.outlet.lanes.makePlace(lane)
    }

    func postpone(_ number: Int64) {
        self[number]?.stream.outlet.postponed.append(number)
    }

    private func give(_ packet: QueuedPacket, _ lane: PacketLane?) throws(SQLiteError) {
        try database.write()
        try database.packets.save(lane, of: packet.record.number)
        changeLane(of: packet.record.number, to: lane)
    }
}

extension QueuedOutlet {
    var laneCount: Int { destination.rules.lanes }

    /// Follows a change of the number of lanes. Returns true if another packet may be sealed.
    func findFreeLane() -> Bool {
        lanes.resize(to: laneCount)
        return lanes.isOpen
    }

    /// Pieces of refused packets must not take the places of new packets.
    func takeLane(forPiece isPiece: Bool) -> PacketLane? {
        guard isPiece else { return lanes.take(of: laneCount) }
        return laneCount > 0 ? lanes.takeOneMore() : nil
    }
}
