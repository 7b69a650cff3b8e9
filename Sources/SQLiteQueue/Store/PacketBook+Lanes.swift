import Queue
import SQLite

// The lane of a packet is part of the packet's row. It changes in the transactions that seal,
// acknowledge and remove packets, and costs no statement of its own.
extension PacketBook {
    /// Enters the lane of a packet that was read at a start. Two packets with one lane are damage:
    /// the earlier one keeps it, and the later one gets another.
    func recoverLane(of packet: QueuedPacket) throws(SQLiteError) {
        let outlet = packet.stream.outlet
        guard let lane = packet.record.lane else { return }
        guard !outlet.lanes.enter(lane, of: outlet.laneCount) else { return }
        try give(packet, outlet.lanes.takeOneMore())
    }

    /// See `PacketSource.relane`.
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

    /// See `PacketSource.setAside`. Also used for a packet that waits for something else.
    func setAside(_ number: Int64) {
        guard let packet = self[number], let lane = packet.record.lane else { return }
        packet.stream.outlet.lanes.makePlace(lane)
    }

    /// See `PacketSource.postpone`.
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

    /// A lane for a new packet. Nil if packets have no lanes.
    func takeLane() -> PacketLane? { lanes.take(of: laneCount) }

    /// A lane for a piece of a refused packet. It is an additional one, because pieces would
    /// otherwise take the places of new packets.
    func takeLaneBeside() -> PacketLane? { laneCount > 0 ? lanes.takeOneMore() : nil }

    /// Frees the lane of a removed packet.
    func free(_ lane: PacketLane, isDelivered: Bool) {
        if isDelivered { lanes.acknowledged(lane) } else { lanes.abandoned(lane) }
    }
}
