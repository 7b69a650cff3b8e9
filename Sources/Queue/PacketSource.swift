/// The queue as delivery sees it: delivery asks for packets and acknowledges each one. There is
/// only one consumer.
///
/// The queue seals a packet when it hands it over, not before. While a destination asks for
/// nothing, its logs gather in their streams, so its packets are full when it asks again.
package protocol PacketSource: Sendable {
    /// Sets the receiver of packets. The queue calls it on its thread, after the commit that sealed
    /// the packets. The receiver must be quick.
    func deliver(to receiver: @escaping @Sendable ([SealedPacket]) -> Void)

    /// Sets the receiver of outlets. The queue announces all known outlets, then each new one, on
    /// its thread and before it hands over a packet of the outlet. An announced outlet has no
    /// requests yet.
    func announceOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void)

    /// Sets the receiver of retired outlets. They had no logs for so long that the queue removed
    /// them and the requests for them. The queue announces them again with their next log.
    func retireOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void)

    /// Sets the receiver of recalls: packets that the queue wants back, by the outlet that they
    /// were handed over for. They grew too old or now belong to another logstore. Delivery gives
    /// back packets that no request carries. It gives back the others at their next attempt, when
    /// `blocks` throws `withdrawn`. The queue calls the receiver on its thread.
    func recallPackets(to receiver: @escaping @Sendable ([Outlet: Set<PacketID>]) -> Void)

    /// Allows the queue to hand over `count` more packets of an announced outlet. The queue
    /// remembers at most 4096. Packets sealed before the last start come first. Then come streams
    /// that reached their size or age, oldest first. Pieces of refused packets take turns with all
    /// of them.
    func request(_ count: Int, for outlet: Outlet)

    /// The packet's content, in order. Called on the consumer's thread. Recent rows come from
    /// memory, others from disk through the read-only connection.
    ///
    /// A `corrupt` error makes the packet void: the caller drops it and requests another one. The
    /// queue hands over the readable rest in a new packet and counts the other logs as discarded.
    /// `withdrawn` also makes it void: the logs grew too old, or the queue hands them over again
    /// for another logstore. After any other error the packet stays valid, and the caller can read
    /// it later.
    func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock]

    /// Gives a packet up. The caller drops it and requests others.
    func end(_ packet: SealedPacket, _ end: PacketEnd)

    /// Tells the queue that the packet must wait until another packet of its outlet is stored. The
    /// caller keeps it, and it keeps its lane. The queue may seal another packet in its place.
    func setAside(_ packet: SealedPacket)

    /// Seals the waiting logs of a destination now, without waiting for size or age.
    func flush(_ destination: String)
}

/// How delivery gives up a packet, and what the queue does with it.
package enum PacketEnd: Sendable, Equatable {
    /// The destination stored the packet. The queue removes it and counts its logs as delivered.
    case stored
    /// The destination refuses the packet's content for good. The queue removes logs that it knows
    /// to be wrong. If it knows none, it halves the packet until one log is left, which becomes a
    /// dead letter with the reason. The queue hands over the rest in new packets.
    case isolate(DeathReason)
    /// The operator wants such packets dropped. The queue removes it and counts its logs as
    /// discarded.
    case discard(DeathReason)
    /// SLS has seen the packet's sequence number, although it cannot have seen the packet. The
    /// queue hands the packet over again in another lane.
    case relane
    /// Another packet of its outlet must be stored first, as with `setAside`. The queue hands it
    /// over again, with its lane, when another packet of its outlet was acknowledged or nothing
    /// else is left.
    case postpone
    /// The packet was recalled, and no request carries it.
    case recalled
}
