package import Queue
import SQLiteQueue
import System

extension ShardFleet: PacketSource {
    package func recallPackets(
        to receiver: @escaping @Sendable ([Outlet: Set<PacketID>]) -> Void
    ) {
        state.withLock { $0.receivers.recalled = receiver }
    }

    package func retireOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        state.withLock { $0.receivers.retired = receiver }
    }

    package func deliver(to receiver: @escaping @Sendable ([SealedPacket]) -> Void) {
        state.withLock { $0.receivers.packets = receiver }
    }

    /// Delivery calls this after the others, and again when it has more destinations.
    package func announceOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        let (home, adopted, receivers) = state.withLock { state in
            let adopted = state.isDelivering ? [] : Array(state.adopted.values)
            state.receivers.announced = receiver
            state.isDelivering = true
            return (state.home, adopted, state.receivers)
        }
        deliverHome(home, to: receivers)
        for shard in adopted { deliver(shard, to: receivers) }
    }

    package func request(_ count: Int, for outlet: Outlet) { homeQueue.request(count, for: outlet) }

    package func flush(_ destination: String) {
        for shard in openShards { shard.queue.flush(destination) }
    }

    package func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock] {
        guard let queue = queue(of: packet.shard) else {
            throw QueueError(.withdrawn, "\(packet.id) belongs to another gateway now.")
        }
        guard isTrusted else {
            throw QueueError(
                .unreachable,
                "\(packet.id) waits: another gateway may have its shard, or be about to."
            )
        }
        do throws(QueueError) {
            return try queue.blocks(of: packet)
        } catch {
            // Delivery drops such a packet and does not give it back.
            if [.withdrawn, .corrupt].contains(error.kind) { _ = giveUp(packet) }
            throw error
        }
    }

    /// Delivery gives the packet up. Returns its queue; nil: another gateway has the shard now.
    private func giveUp(_ packet: SealedPacket) -> DurableQueue? {
        let (queue, adopted) = state.withLock { state -> (DurableQueue?, AdoptedShard?) in
            if state.home.shard == packet.shard {
                return (state.isHomeLost ? nil : state.home.queue, nil)
            }
            let adopted = state.adopted[packet.shard]
            return (adopted?.owned.queue, adopted)
        }
        adopted?.ended(packet)
        return queue
    }

    package func end(_ packet: SealedPacket, _ end: PacketEnd) {
        if let queue = giveUp(packet) {
            queue.end(packet, end)
        } else if end == .stored {
            // The shard's next owner sends it once more.
            change { $0.lateAcknowledgements += 1 }
        }
    }

    package func setAside(_ packet: SealedPacket) { queue(of: packet.shard)?.setAside(packet) }
}
