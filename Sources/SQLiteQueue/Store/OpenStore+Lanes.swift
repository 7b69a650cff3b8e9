import Queue
import SQLite

// Which lane a packet has is part of its row, so it changes in the transactions that seal, acknowledge and remove
// packets, and costs no statement of its own.
extension OpenStore {
    /// The lane of a packet that was read at the start. Two packets with one lane are damage: the earlier keeps
    /// it, and the later gets another.
    func recoverLane(of packet: QueuedPacket) throws(SQLiteError) {
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
        try database.save(lane, of: number)
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
