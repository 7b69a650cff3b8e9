import Queue
import System

/// A logstore's part of the queue: the order in which its packets are handed over.
final class QueuedOutlet {
    let name: Outlet
    /// Unowned: the destination holds its outlets and exists as long as the store.
    unowned let destination: QueuedDestination

    /// The number of its streams, including empty ones. Without streams the outlet is removed.
    var streamCount = 0
    var busyStreams = 0
    var packetCount = 0
    /// Packets that were split off refused ones. They take turns with everything else.
    var pieces = Pieces() { didSet { note() } }
    var gavePiece = false
    /// Packets that are sealed and not handed over, as after a start. Only pieces go before them.
    var sealedBefore = Fifo<Int64>() { didSet { note() } }
    /// Packets that others must precede. They go when one was stored or nothing else is left.
    var postponed = Fifo<Int64>() { didSet { note() } }
    /// The number of packets that wait in the owner for room for dead letters. At the maximum,
    /// further ones go to `heldBack`, and are handed over again when some waiters are done.
    var roomWaiters = 0 { didSet { note() } }
    var heldBack = Fifo<Int64>() { didSet { note() } }
    static let roomWaitersMax = 16
    var lanes = OutletLanes() { didSet { note() } }
    var seen = QueueStatus.Outlet()
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

    /// Removes empty streams. Streams leave the lines when delivery asks for packets; until then
    /// each device that comes and goes would leave an empty one.
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

    var filed: Int { ripe.count + aging.count }

    /// Empties the heap of ages. The caller files the streams again.
    func emptyAges() {
        aging.removeAll { stream in
            stream.leave(.aging)
            return true
        }
    }

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

    var nextDue: WallTime? { aging.nextKey }
}

/// The ripe streams of an outlet, in the order in which they became ripe. Each gets its turn. If
/// fresh logs have a share, streams whose oldest log is fresh have a line and a share of the turns.
struct RipeStreams {
    private var backlog = Fifo<QueuedStream>()
    private var fresh = Fifo<QueuedStream>()
    /// Hundredths of a turn that the fresh line has earned and not used.
    private var credit = 0

    var count: Int { backlog.count + fresh.count }

    mutating func append(_ stream: QueuedStream, isFresh: Bool) {
        stream.enter(.ripe)
        if isFresh { fresh.append(stream) } else { backlog.append(stream) }
    }

    mutating func sweep() {
        for empty in backlog.removeAll(where: { $0.waiting.isEmpty }) { empty.leave(.ripe) }
        for empty in fresh.removeAll(where: { $0.waiting.isEmpty }) { empty.leave(.ripe) }
    }

    /// The next stream in which something waits.
    mutating func next(
        freshPercent: Int,
        isFresh: (QueuedStream) -> Bool
    ) -> QueuedStream? {
        while let first = fresh.first, first.waiting.isEmpty || !isFresh(first) {
            _ = fresh.popFirst()
            // The stream was fresh when it was filed and has become old.
            backlog.append(first)
        }
        // A later generation is filed again after the earlier ones have left.
        while let first = backlog.first, first.waiting.isEmpty || !first.isEldest {
            _ = backlog.popFirst()
            first.leave(.ripe)
        }
        let stream = takeTurn(freshPercent) ? fresh.popFirst() : backlog.popFirst()
        stream?.leave(.ripe)
        return stream
    }

    private mutating func takeTurn(_ percent: Int) -> Bool {
        guard !fresh.isEmpty, !backlog.isEmpty else { return backlog.isEmpty }
        credit += percent
        guard credit >= 100 else { return false }
        credit -= 100
        return true
    }
}

/// Packets that were split off others, smallest first and then latest first, so that the search for
/// a refused log ends with few other pieces in flight.
struct Pieces {
    private struct Piece {
        let number: Int64
        let logs: Int
    }

    /// Largest first, so that the next one is at the end.
    private var pieces: [Piece] = []

    var isEmpty: Bool { pieces.isEmpty }

    mutating func insert(_ number: Int64, logs: Int) {
        // A new piece usually belongs near the end: halves are smaller than their origin.
        var place = pieces.endIndex
        while place > 0, pieces[place - 1].logs < logs { place -= 1 }
        pieces.insert(Piece(number: number, logs: logs), at: place)
    }

    mutating func popFirst() -> Int64? {
        pieces.popLast()?.number
    }
}
