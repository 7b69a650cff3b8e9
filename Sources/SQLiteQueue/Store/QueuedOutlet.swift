import Queue
import System

/// A logstore's part of the queue: the order in which its packets are handed over.
final class QueuedOutlet {
    let name: Outlet
    /// Unowned: the destination holds its outlets and exists as long as the store.
    unowned let destination: QueuedDestination

    /// The number of its streams, including empty ones. Without streams the outlet is removed.
    var streamCount = 0
    /// The number of streams that are not empty.
    var busyStreams = 0
    /// Packets that are sealed and not acknowledged.
    var packetCount = 0
    /// Packets that were split off refused ones. They take turns with everything else.
    var pieces = Pieces() { didSet { note() } }
    /// True if the last packet handed over was a piece.
    var gavePiece = false
    /// Packets that are sealed and not handed over, for example after a start. Apart from pieces
    /// they go first.
    var sealedBefore = Fifo<Int64>() { didSet { note() } }
    /// Packets that cannot be judged before others are stored. They go when nothing else is left or
    /// another packet was stored.
    var postponed = Fifo<Int64>() { didSet { note() } }
    /// The number of its packets that the owner keeps until there is room for dead letters. At the
    /// maximum, further packets that are refused without room go to `heldBack`. They are handed
    /// over again when some waiters are done.
    var roomWaiters = 0 { didSet { note() } }
    var heldBack = Fifo<Int64>() { didSet { note() } }
    static let roomWaitersMax = 16
    var lanes = OutletLanes() { didSet { note() } }
    /// The findings of the last survey.
    var seen = QueueStatus.Outlet()
    /// The time at which a packet of the outlet was last sealed.
    var lastSealed: WallTime?
    /// True if the outlet is in the list of outlets that may have packets to hand over.
    var isNoted = false
    /// The time at which it gets into that list, unless something happens before.
    var filedDue: WallTime?
    private var ripe = RipeStreams()
    private var aging = PriorityQueue<WallTime, QueuedStream>()

    /// Logs that have waited this long for their turn are a backlog.
    static let freshAge: Duration = .seconds(30)

    init(_ name: Outlet, of destination: QueuedDestination) {
        self.name = name
        self.destination = destination
    }

    /// Notes an event that may let the outlet hand over a packet.
    func note() {
        guard !isNoted else { return }
        isNoted = true
        destination.note(self)
    }

    /// Puts the stream into the right line. Called after each change of its waiting rows.
    func schedule(_ stream: QueuedStream, _ now: WallTime) {
        guard !stream.waiting.isEmpty else { return }
        note()
        guard !stream.isIn(.ripe) else { return }
        if isFull(stream) || stream.waiting.isFlushed {
            ripe.append(stream, isFresh: isFresh(stream, now))
        } else if !stream.isIn(.aging) {
            stream.enter(.aging)
            aging.add(stream, at: due(stream))
        }
        sweep()
    }

    /// Removes empty streams from the lines. Streams normally leave the lines when delivery asks
    /// for packets. While it does not, each device that comes and goes would leave an empty one.
    private func sweep() {
        let most = 2 * streamCount + 64
        if ripe.count > most { ripe.sweep() }
        guard aging.count > most else { return }
        aging.removeAll { stream in
            guard stream.waiting.isEmpty else { return false }
            stream.leave(.aging)
            return true
        }
    }

    /// The number of used places in the lines.
    var filed: Int { ripe.count + aging.count }

    /// Empties the heap of ages. The caller files the streams again.
    func emptyAges() {
        aging.removeAll { stream in
            stream.leave(.aging)
            return true
        }
    }

    /// True if a whole packet waits in the stream.
    func isFull(_ stream: QueuedStream) -> Bool {
        let limits = destination.limits
        return stream.waiting.raw >= limits.rawBytes || stream.waiting.logs >= limits.logs
    }

    /// True if the stream's oldest log is not a backlog. Always false if fresh logs have no share.
    func isFresh(_ stream: QueuedStream, _ now: WallTime) -> Bool {
        destination.rules.freshPercent > 0 && now < due(stream) + Self.freshAge
    }

    private func due(_ stream: QueuedStream) -> WallTime {
        stream.waiting.oldest + destination.limits.age
    }

    /// The next stream to seal from, if one is ripe.
    func nextRipe(_ now: WallTime) -> QueuedStream? {
        while let stream = aging.takeFirst(upTo: now)?.element {
            stream.leave(.aging)
            guard !stream.waiting.isEmpty, !stream.isIn(.ripe) else { continue }
            // Its oldest rows may have left since it was filed.
            if due(stream) <= now {
                ripe.append(stream, isFresh: isFresh(stream, now))
            } else {
                schedule(stream, now)
            }
        }
        return ripe.next(freshPercent: destination.rules.freshPercent) { isFresh($0, now) }
    }

    /// The next packet of those that were refused.
    func nextPiece() -> Int64? {
        if let piece = pieces.popFirst() { return piece }
        return roomWaiters < Self.roomWaitersMax ? heldBack.popFirst() : nil
    }

    /// True if there may be a packet to hand over.
    func mayGive(_ now: WallTime) -> Bool {
        ripe.count > 0 || !pieces.isEmpty || !sealedBefore.isEmpty || !postponed.isEmpty
            || nextDue.map { $0 <= now } ?? false
            || (!heldBack.isEmpty && roomWaiters < Self.roomWaitersMax)
    }

    /// The time at which the next stream reaches its age.
    var nextDue: WallTime? { aging.nextKey }
}
