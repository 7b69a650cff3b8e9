/// What delivery sees of the queue: it asks for packets, and gives each one back as acknowledged.
/// One consumer only.
///
/// A packet is sealed when it is handed over, not before: while a destination asks for nothing its
/// logs gather in their streams, so that packets are full when it comes back.
package protocol PacketSource: Sendable {
    /// Where packets go from now on. The receiver is called on the queue's thread, after the commit
    /// that sealed them; it must be quick.
    func deliver(to receiver: @escaping @Sendable ([SealedPacket]) -> Void)

    /// Where outlets are announced: all that are known, and each that is new. The receiver is called on the
    /// queue's thread before any packet of theirs is handed over. Nothing has been asked of an outlet that is
    /// announced.
    func announceOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void)

    /// Where outlets are named that had no logs for so long that the queue forgot them, and with them what was
    /// asked of them. They are announced again with their next log.
    func retireOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void)

    /// Where packets are named that the queue wants back, by the outlet they were handed over for: they grew too
    /// old, or go elsewhere. Those that no request carries are to be given back; the others at their next attempt,
    /// when `blocks` says so. The receiver is called on the queue's thread.
    func recallPackets(to receiver: @escaping @Sendable ([Outlet: Set<Int64>]) -> Void)

    /// A recalled packet that no request carries: forget it.
    func giveBack(_ packet: SealedPacket)

    /// Raises by `count` how many packets of an outlet, of those that were announced, may be handed over; no more
    /// than 4096 are remembered. Packets sealed in an earlier life come first, then streams that reached their
    /// size or age, oldest first, and with all of them in turn pieces of refused packets.
    func request(_ count: Int, for outlet: Outlet)

    /// The packet's content, in order. Called on the consumer's thread: from memory when the rows are
    /// recent, else read from disk through the read-only connection.
    ///
    /// A `corrupt` error voids the packet: forget it and request another in its place. What can still be
    /// read of it is handed over in a new packet, the rest is counted as discarded. So does `withdrawn`: the logs
    /// grew too old, or are handed over again for another logstore. After any other error the packet stands, and
    /// can be read later.
    func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock]

    /// The packet is stored at the destination: removes it and counts its logs as delivered.
    func acknowledge(_ packet: SealedPacket)

    /// The destination refuses the packet for what is in it, for ever. Takes out what is known to be wrong;
    /// else halves it, until one log is left, which becomes a dead letter with the reason. What remains is
    /// handed over in new packets: forget this one, and request others in its place.
    func isolate(_ packet: SealedPacket, because reason: DeathReason)

    /// The operator wants such packets dropped: removes it and counts its logs as discarded.
    func discard(_ packet: SealedPacket, because reason: DeathReason)

    /// SLS has seen the packet's sequence number already, though it cannot have seen the packet: hands it over
    /// again in another lane. Forget this one, and request another in its place.
    func relane(_ packet: SealedPacket)

    /// The packet cannot be judged before another of its outlet is stored, and is kept until then: it keeps its
    /// lane, and another packet may be sealed in its place.
    func setAside(_ packet: SealedPacket)

    /// The same, and it is not kept any more: hands it over again, with its lane, when another of its outlet was
    /// acknowledged or nothing else is there. Forget it, and request another in its place.
    func postpone(_ packet: SealedPacket)

    /// Seals what waits for a destination now, without waiting for size or age.
    func flush(_ destination: String)
}
