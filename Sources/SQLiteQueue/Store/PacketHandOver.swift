import Queue
import SQLite
import System

/// Chooses the next packets for delivery and seals them.
final class PacketHandOver: StreamPart {
    let streams: StreamBook
    private let packets: PacketBook

    init(_ packets: PacketBook) {
        streams = packets.streams
        self.packets = packets
    }

    /// Seals and collects the packets to hand over after the commit, as many as delivery asks for.
    /// Looks only at outlets to which something happened.
    func packets(for demand: Demand) throws(SQLiteError) -> [SealedPacket] {
        var gathered: [SealedPacket] = []
        let time = now()
        for outlet in destinations.dirty.takeOutlets(time) {
            let wanted = demand.byOutlet[outlet.name] ?? 0
            if wanted > 0, outlet.mayGive(time) {
                for _ in 0..<wanted {
                    guard let packet = try nextPacket(of: outlet, time) else { break }
                    gathered.append(packet)
                }
            }
            // If no lane is free, the outlet waits for the next acknowledgement, not for a time.
            let waitsForTime = wanted > 0 && outlet.findFreeLane()
            destinations.dirty.looked(outlet, due: waitsForTime ? outlet.nextDue : nil)
        }
        return gathered
    }

    /// Pieces of refused packets take turns with all others: bad logs must not hold up good ones.
    private func nextPacket(
        of outlet: QueuedOutlet,
        _ time: WallTime
    ) throws(SQLiteError) -> SealedPacket? {
        if !outlet.gavePiece, let piece = nextPiece(of: outlet) { return piece }
        outlet.gavePiece = false
        return try nextWhole(of: outlet, time) ?? nextPiece(of: outlet)
            ?? nextSealed { outlet.postponed.popFirst() }
    }

    private func nextPiece(of outlet: QueuedOutlet) -> SealedPacket? {
        let piece = nextSealed { outlet.nextPiece() }
        if piece != nil { outlet.gavePiece = true }
        return piece
    }

    private func nextSealed(_ next: () -> Int64?) -> SealedPacket? {
        while let number = next() {
            guard let packet = packets[number] else { continue }
            packets.markHandedOver(number)
            return SealedPacket(packet, of: configuration.shard, recent: nil)
        }
        return nil
    }

    /// Packets from before the last start come first, then packets of ripe streams in turn.
    private func nextWhole(
        of outlet: QueuedOutlet,
        _ time: WallTime
    ) throws(SQLiteError) -> SealedPacket? {
        if let packet = nextSealed({ outlet.sealedBefore.popFirst() }) { return packet }
        guard outlet.findFreeLane(), let stream = outlet.nextRipe(time) else { return nil }
        let packet = try packets.seal(stream, time)
        packets.markHandedOver(packet.number)
        outlet.lastSealed = time
        outlet.schedule(stream, time)
        return packet
    }

    /// The time at which the next stream reaches its age, among those that delivery asks for.
    var nextDue: WallTime? { destinations.dirty.nextDue }
}

extension SealedPacket {
    init(_ packet: QueuedPacket, of shard: Shard, recent: [StoredBlock]?) {
        let record = packet.record
        self.init(
            id: PacketID(shard: shard, number: record.number),
            stream: packet.stream.key,
            streamID: StreamID(shard: shard, number: record.stream),
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

/// The number of packets that delivery has requested and not received. Bounded because the queue
/// seals at hand-over: delivery cannot make it seal far ahead.
struct Demand {
    static let most = 4096

    private(set) var byOutlet: [Outlet: Int] = [:]
    /// Sums over all outlets of a destination.
    private(set) var totals: [String: Int] = [:]

    mutating func raise(_ outlet: Outlet, by count: Int) {
        let before = byOutlet[outlet] ?? 0
        let after = min(Self.most, before + max(0, min(count, Self.most)))
        byOutlet[outlet] = after
        totals[outlet.destination, default: 0] += after - before
    }

    mutating func meet(_ outlet: Outlet) {
        guard let left = byOutlet[outlet], left > 0 else { return }
        byOutlet[outlet] = left - 1
        totals[outlet.destination, default: 0] -= 1
    }

    mutating func drop(_ outlet: Outlet) {
        guard let left = byOutlet.removeValue(forKey: outlet) else { return }
        totals[outlet.destination, default: 0] -= left
    }
}
