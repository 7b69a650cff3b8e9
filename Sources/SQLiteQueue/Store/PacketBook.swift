import Queue
import SQLite
import System

/// The packets that are sealed and not acknowledged.
final class PacketBook: StorePart {
    let context: StoreContext
    private let ages: AgeBook
    private let weight: QueueWeight
    private let streams: StreamBook
    private let recent: RecentPayloads
    private var packets: [Int64: QueuedPacket] = [:]

    init(
        _ streams: StreamBook,
        _ ages: AgeBook,
        _ weight: QueueWeight,
        _ recent: RecentPayloads
    ) {
        context = ages.context
        self.ages = ages
        self.weight = weight
        self.streams = streams
        self.recent = recent
    }

    subscript(number: Int64) -> QueuedPacket? { packets[number] }

    /// It is handed over: from now on it may be sent under its lane.
    func markHandedOver(_ number: Int64) { packets[number]?.wasHandedOver = true }

    var all: some Collection<QueuedPacket> { packets.values }
    var count: Int { packets.count }

    // MARK: - Sealing

    /// Seals the stream's next packet: as many waiting rows as the limits allow, one at least.
    func seal(_ stream: QueuedStream, _ time: WallTime) throws(SQLiteError) -> SealedPacket {
        var cut = PacketCut(stream.destination.limits)
        var next: RowRecord?
        try database.rows.visit(of: stream.id, after: stream.sealedThrough) { row in
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
        guard record.rows.lowerBound > stream.sealedThrough, cut.rows.count <= stream.waitingRows
        else {
            throw SQLiteError.damage(
                "\(cut.rows.count) rows of stream \(stream.id) wait, and \(stream.waitingRows) are known"
            )
        }
        let packet = try enter(record, cut, stream)
        weight.changeWaiting(stream.destination, by: -packet.bytes)
        stream.sealedThrough = record.rows.upperBound
        stream.waitingRows -= cut.rows.count
        stream.waitingLogs -= cut.logs
        stream.waitingRaw -= cut.raw
        if let next { stream.oldest = min(ages.begin(next), time) }
        streams.scheduleNext(after: stream, time)
        return SealedPacket(packet, recent: recent.take(cut.rows))
    }

    /// Writes down a packet of the stream and counts it.
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
        record.lane = isPiece ? stream.outlet.takeLaneBeside() : stream.outlet.takeLane()
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

    /// Hands rows over as a packet of their own, in turn with everything else of their outlet. Returns nil when
    /// there are none.
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

    // MARK: - Leaving

    /// Removes a packet that its destination has stored, with its rows.
    func removeDelivered(_ packet: QueuedPacket) throws(SQLiteError) {
        try database.write()
        try database.packets.remove(packet.record.number)
        leave(packet, isDelivered: true)
        try removeRows(of: packet)
    }

    /// Undoes a packet that is not acknowledged: its rows will leave, or go out in other packets. Every packet
    /// ends here or in `acknowledge`. What it weighed, and its rows, are the caller's to take away.
    func withdraw(_ packet: QueuedPacket) throws(SQLiteError) {
        try database.write()
        try database.packets.remove(packet.record.number)
        leave(packet)
    }

    /// Forgets a packet, which was removed. Unless it is known to be stored at its destination its lane's key
    /// is not used again.
    private func leave(_ packet: QueuedPacket, isDelivered: Bool = false) {
        packets[packet.record.number] = nil
        if let lane = packet.record.lane {
            packet.stream.outlet.free(lane, isDelivered: isDelivered)
        }
        packet.stream.packetCount -= 1
        packet.stream.outlet.packetCount -= 1
        packet.stream.destination.packetCount -= 1
        packet.stream.destination.queuedLogs -= packet.record.logs
    }

    /// Removes those rows of a packet that `leaves` names; the others go out as a new packet. Without any the packet stays
    /// as it was. Delivery must not hold it. Returns the logs and bytes that left, which the caller counts.
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

    /// Removes all rows of a packet that leaves, and what they weigh.
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

    /// See `PacketSource.discard`. Returns how many logs that were.
    func discard(_ number: Int64) throws(SQLiteError) -> Int {
        guard let packet = packets[number] else { return 0 }
        let stream = packet.stream
        try withdraw(packet)
        try removeRows(of: packet)
        let logs = Int64(packet.record.logs)
        stream.destination.change { ledger in
            ledger.discarded += logs
            ledger.queued -= logs
        }
        stream.destination.volumes.discarded += packet.record.raw
        try streams.rest(stream)
        return packet.record.logs
    }

    /// Its oldest row has waited longer than the operator allows.
    func isExpired(_ packet: QueuedPacket, _ time: WallTime) -> Bool {
        let record = packet.record
        let oldest = ages.begin(record.oldest, number: record.rows.lowerBound)
        return oldest + ages.ageMax(of: packet.stream.destination) <= time
    }

    /// Removes rows of a packet that are too old, and counts them as expired; the others go out as a new one.
    /// Delivery must not hold it. Returns the number of their logs.
    func expire(packet number: Int64) throws(SQLiteError) -> Int {
        let time = now()
        guard let packet = packets[number], ages.knowsTime, isExpired(packet, time) else {
            return 0
        }
        let stream = packet.stream
        let ageMax = ages.ageMax(of: stream.destination)
        let old = try removeRows(of: packet) { ages.begin($0) + ageMax <= time }
        guard old.logs > 0 else { return 0 }
        stream.destination.change { ledger in
            ledger.expired += Int64(old.logs)
            ledger.queued -= Int64(old.logs)
        }
        stream.destination.volumes.expired += old.raw
        try streams.rest(stream)
        return old.logs
    }

    /// Looks at a packet that delivery could not read. Rows whose payload is not what was stored are
    /// removed and counted as discarded; what is left of the packet goes out as a new one, since its content
    /// is another. Returns how many logs are lost.
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
        }
        // Not by the broken rows' own numbers, which may be what is broken.
        weight.weigh(packet.stream.destination, bytes: -packet.bytes, rows: -packet.rowCount)
        let lost = packet.record.logs - remainder.logs
        packet.stream.destination.change { ledger in
            ledger.discarded += Int64(lost)
            ledger.queued -= Int64(lost)
        }
        packet.stream.destination.volumes.discarded += max(0, packet.record.raw - remainder.raw)
        try enterPiece(remainder, of: packet.stream)
        try streams.rest(packet.stream)
        return lost
    }

    // MARK: - Lanes

    // Which lane a packet has is part of its row, so it changes in the transactions that seal, acknowledge and remove
    // packets, and costs no statement of its own.

    /// A packet was read at the start.
    func recover(_ packet: QueuedPacket) throws(SQLiteError) {
        let number = packet.record.number
        guard packets[number] == nil else { throw .damage("packet \(number) is there twice") }
        enter(packet)
        try recoverLane(of: packet)
    }

    /// The lane of a packet that was read at the start. Two packets with one lane are damage: the earlier keeps
    /// it, and the later gets another.
    private func recoverLane(of packet: QueuedPacket) throws(SQLiteError) {
        let outlet = packet.stream.outlet
        guard let lane = packet.record.lane else { return }
        guard !outlet.lanes.enter(lane, of: outlet.laneCount) else { return }
        try give(packet, outlet.lanes.takeOneMore())
    }

    /// See `PacketSource.relane`.
    func relane(_ number: Int64) throws(SQLiteError) {
        guard let packet = packets[number] else { return }
        let outlet = packet.stream.outlet
        if let lane = packet.record.lane {
            if outlet.laneCount > 0 {
                try give(packet, outlet.lanes.replace(lane))
            } else {
                // The operator wants no lanes any more, maybe because SLS refuses them all.
                outlet.lanes.abandoned(lane)
                try give(packet, nil)
            }
        }
        outlet.sealedBefore.append(number)
    }

    /// See `PacketSource.setAside`; the same for a packet that waits for something else.
    func setAside(_ number: Int64) {
        guard let packet = packets[number], let lane = packet.record.lane else { return }
        packet.stream.outlet.lanes.makePlace(lane)
    }

    /// See `PacketSource.postpone`.
    func postpone(_ number: Int64) {
        packets[number]?.stream.outlet.postponed.append(number)
    }

    private func give(_ packet: QueuedPacket, _ lane: PacketLane?) throws(SQLiteError) {
        let number = packet.record.number
        try database.write()
        try database.packets.save(lane, of: number)
        packets[number]?.record.lane = lane
        packets[number]?.wasHandedOver = false
    }
}

extension QueuedOutlet {
    var laneCount: Int { destination.rules.lanes }

    /// Another packet may be sealed.
    var hasFreeLane: Bool { lanes.isOpen(laneCount) }

    /// For a new packet; nil when packets go without.
    func takeLane() -> PacketLane? { lanes.take(of: laneCount) }

    /// For a piece of a refused packet: as long as there are any, new packets would get no place.
    func takeLaneBeside() -> PacketLane? { laneCount > 0 ? lanes.takeOneMore() : nil }

    /// The packet is gone.
    func free(_ lane: PacketLane, isDelivered: Bool) {
        if isDelivered { lanes.acknowledged(lane) } else { lanes.abandoned(lane) }
    }
}
