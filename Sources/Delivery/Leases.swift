import Queue
import System

/// A packet that delivery has from the queue until it is acknowledged.
struct Lease {
    private(set) var packet: SealedPacket
    var failures = 0
    var lastFailure: DeliveryFailure.Kind?

    /// From then on a packet waits for seconds, and others must not have to wait with it.
    private static let failuresBeforeParking = 5

    /// Whether it has failed so often, for a reason that others need not have, that it waits beside the
    /// others. Without an answer from SLS all would fail alike: then nothing is parked, and logs rather
    /// gather in their streams.
    var isParked: Bool {
        guard failures >= Self.failuresBeforeParking, let lastFailure else { return false }
        return switch lastFailure {
        case .network, .notSLS, .suspended, .clock: false
        case .server, .quota, .unauthorized, .notFound, .content, .sequence, .request, .other,
            .queue:
            true
        }
    }

    init(_ packet: SealedPacket) {
        self.packet = packet
    }

    /// Lets go of the content, which the queue gives again when it is asked.
    mutating func dropContent() {
        packet = packet.withoutContent
    }
}

/// The packets that a destination has on lease: asked for, ready, in flight or waiting for a retry.
///
/// Pure bookkeeping, and the place of its bounds: at most `concurrency` are in flight, at most `limit`
/// on lease. A packet that waits for a retry has given its content back (it is read again then), so
/// that an outage holds names in memory and not bodies.
///
/// A packet that fails again and again, as for a logstore that does not exist, is parked: it is tried
/// again like the others, but leaves its lease to one that may be stored. At most `parkedLimit` do; what
/// is parked beyond that counts against `limit`. So there are never more than both together.
struct Leases {
    let concurrency: Int
    let limit: Int
    let parkedLimit: Int

    /// How many of those that wait are parked.
    private(set) var parkedCount = 0
    private(set) var requested = 0
    private(set) var inFlight = 0
    private var ready: [Lease] = []
    private var waiting = DeadlineHeap<Lease>()

    init(concurrency: Int, limit: Int, parkedLimit: Int = 0) {
        self.concurrency = concurrency
        self.limit = max(limit, concurrency)
        self.parkedLimit = parkedLimit
    }

    var waitingCount: Int { waiting.count }
    var readyCount: Int { ready.count }
    var nextRetry: Moment? { waiting.next }

    /// How many packets more the queue is asked for now. A quarter of the concurrency is asked for
    /// ahead, which covers the commit that seals a packet; the rest stays in the queue, where it
    /// still grows.
    mutating func demand() -> Int {
        let counted = waiting.count - min(parkedCount, parkedLimit)
        let onLease = requested + ready.count + counted + inFlight
        let wanted = concurrency + max(1, concurrency / 4) - requested - ready.count - inFlight
        let count = max(0, min(wanted, limit - onLease))
        requested += count
        return count
    }

    mutating func arrived(_ packet: SealedPacket) {
        requested = max(0, requested - 1)
        ready.append(Lease(packet))
    }

    func canSend(_ now: Moment) -> Bool {
        inFlight < concurrency && (!ready.isEmpty || waiting.next.map { $0 <= now } ?? false)
    }

    /// The packet to send now, while there is a place in flight: what failed before comes first.
    mutating func next(_ now: Moment) -> Lease? {
        guard inFlight < concurrency else { return nil }
        let lease: Lease
        if let again = waiting.takeDue(now) {
            if again.isParked { parkedCount -= 1 }
            lease = again
        } else {
            guard !ready.isEmpty else { return nil }
            lease = ready.removeFirst()
        }
        inFlight += 1
        return lease
    }

    /// A packet left flight for good: stored, or held.
    mutating func ended() {
        inFlight -= 1
    }

    mutating func postponed(_ lease: Lease, until moment: Moment) {
        inFlight -= 1
        var lease = lease
        lease.dropContent()
        if lease.isParked { parkedCount += 1 }
        waiting.add(lease, at: moment)
    }

    /// Lets those try at the given moment that wait because of such a failure.
    mutating func hasten(
        _ kinds: Set<DeliveryFailure.Kind>,
        to moment: () -> Moment
    ) {
        waiting.hasten { lease in
            guard let kind = lease.lastFailure, kinds.contains(kind) else { return nil }
            return moment()
        }
    }
}

extension SealedPacket {
    /// The same packet, whose content has to be asked for.
    fileprivate var withoutContent: SealedPacket {
        SealedPacket(
            number: number,
            stream: stream,
            streamID: streamID,
            packID: packID,
            rows: rows,
            logCount: logCount,
            rawBytes: rawBytes,
            oldest: oldest,
            recent: nil
        )
    }
}
