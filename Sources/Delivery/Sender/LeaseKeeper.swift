import Queue
import System

/// A destination's packets on lease from the queue. Each lease ends exactly once.
///
/// Two kinds of packets are worth no request for a time and wait here: those that could not be
/// read, and lone logs that SLS refused while the host's clock is wrong.
final class LeaseKeeper {
    private let source: any PacketSource
    private let status: StatusPublisher
    private var held: Set<PacketID> = []
    private var rereads = PriorityQueue<Moment, Lease>()
    private var clockWaits = PriorityQueue<Moment, Lease>()

    init(_ source: any PacketSource, _ status: StatusPublisher) {
        self.source = source
        self.status = status
    }

    /// Packets that delivery has from the queue, those in flight included.
    var count: Int { held.count }
    var clockWaitCount: Int { clockWaits.count }

    // MARK: - Packets that are sent

    /// Asks the queue for more packets, so that the outlet has so many.
    func request(upTo wanted: Int, for outlet: DeliveryOutlet) {
        let count = outlet.line.claim(upTo: wanted)
        if count > 0 { source.request(count, for: outlet.name) }
    }

    func began(_ lease: Lease) {
        let isNew = held.insert(lease.packet.id).inserted
        precondition(isNew, "the queue handed over a packet that delivery has already")
    }

    /// Asked for also when it is in memory: the queue may want the packet back.
    func blocks(of lease: Lease) throws(QueueError) -> [StoredBlock] {
        try source.blocks(of: lease.packet)
    }

    /// A packet that was in flight, or about to be, is the queue's again.
    func end(_ lease: Lease, of outlet: DeliveryOutlet, _ end: PacketEnd) {
        forget(lease, of: outlet)
        switch end {
        case .isolate: status.count(\.isolated)
        case .discard: status.count(\.discarded)
        case .relane: status.count(\.relaned)
        case .stored, .postpone, .recalled: break
        }
        source.end(lease.packet, end)
    }

    /// The queue took the packet back by itself. It counts a packet that it could not read.
    func withdrawn(_ lease: Lease, of outlet: DeliveryOutlet, isVoid: Bool) {
        forget(lease, of: outlet)
        if isVoid { status.count(\.voided) }
    }

    // MARK: - Packets that wait

    /// Another packet has to be stored before this one can be judged.
    func setAside(_ lease: Lease, of outlet: DeliveryOutlet) {
        source.setAside(lease.packet)
        postpone(outlet.line.setAside(lease))
    }

    /// The disk may recover, so the packet is read again later.
    func reread(_ lease: Lease, of outlet: DeliveryOutlet, at moment: Moment) {
        outlet.line.keptBack(lease)
        rereads.add(lease, at: moment)
    }

    /// A lone log may be refused for the host's time alone. It is tried now and then until the
    /// clock is right. Some may wait while others are delivered; with more of them the logstore
    /// waits, so that a wrong clock never has packets taken apart without a bound.
    func awaitClock(_ original: Lease, of outlet: DeliveryOutlet, until moment: Moment) {
        var lease = original
        lease.awaitsClock = true
        outlet.line.keptBack(lease)
        // Its lane is free for another packet, as that of one that stands aside.
        source.setAside(lease.packet)
        clockWaits.add(lease, at: moment)
    }

    /// When the first packet that waits here is worth another try.
    var nextDeadline: Moment? {
        [rereads.nextKey, clockWaits.nextKey].compactMap(\.self).min()
    }

    /// The next packet that is worth another read.
    func takeReread(_ now: Moment) -> Lease? {
        rereads.takeFirst(upTo: now)?.element
    }

    /// The next lone log that is worth another try; when the clock is right each of them is.
    func takeClockWait(_ now: Moment, clockIsRight: Bool) -> Lease? {
        clockWaits.takeFirst(upTo: clockIsRight ? Moment(nanoseconds: .max) : now)?.element
    }

    /// Puts a packet that waited here back in line.
    func lineUp(_ lease: Lease, of outlet: DeliveryOutlet) {
        if lease.awaitsClock {
            postpone(outlet.line.standAside(lease))
        } else {
            outlet.line.lineUpAgain(lease)
        }
    }

    // MARK: - Packets that the queue gets back without a request

    /// The queue wants these back.
    func giveBack(_ leases: [Lease]) {
        for lease in leases {
            release(lease)
            source.end(lease.packet, .recalled)
        }
    }

    /// A packet that stood aside for too long goes back to the queue, which hands it over again.
    private func postpone(_ lease: Lease?) {
        guard let lease else { return }
        release(lease)
        source.end(lease.packet, .postpone)
    }

    private func forget(_ lease: Lease, of outlet: DeliveryOutlet) {
        outlet.line.ended(lease)
        release(lease)
    }

    private func release(_ lease: Lease) {
        let wasHeld = held.remove(lease.packet.id) != nil
        precondition(wasHeld, "a lease ends once")
    }
}
