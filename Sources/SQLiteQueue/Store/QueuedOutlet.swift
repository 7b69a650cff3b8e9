import Queue
import System

/// A logstore's part of the queue: the order in which its packets are handed over.
final class QueuedOutlet {
    let name: Outlet
    /// Unowned: it holds its outlets, and lives as long as the store.
    unowned let destination: QueuedDestination

    /// Its streams, empty ones too; without any it is forgotten.
    var streamCount = 0
    /// Those that are not empty.
    var busyStreams = 0
    /// Sealed and not acknowledged.
    var packetCount = 0
    /// Cut from packets that were refused: they take turns with everything else.
    var pieces = Pieces() { didSet { note() } }
    /// The last packet handed over was one.
    var gavePiece = false
    /// Sealed and not handed over, of an earlier life for example: of everything else these go first.
    var sealedBefore = Fifo<Int64>() { didSet { note() } }
    /// Cannot be judged before others are stored: they go when nothing else is there, or one was stored.
    var postponed = Fifo<Int64>() { didSet { note() } }
    /// Its packets that the owner keeps until there is room for dead letters. When they are as many as may be, what
    /// else is refused without room stays here, and is handed over again when some of them are done.
    var roomWaiters = 0 { didSet { note() } }
    var heldBack = Fifo<Int64>() { didSet { note() } }
    static let roomWaitersMax = 16
    var lanes = OutletLanes() { didSet { note() } }
    /// What the last survey found.
    var seen = QueueStatus.Outlet()
    /// When a packet of it was sealed last.
    var lastSealed: WallTime?
    /// It is among those that may have packets to hand over.
    var isNoted = false
    /// When it will be, unless something happens before.
    var filedDue: WallTime?
    private var ripe = RipeStreams()
    private var aging = PriorityQueue<WallTime, QueuedStream>()

    /// Logs are a backlog when they have waited this long for their turn.
    static let freshAge: Duration = .seconds(30)

    init(_ name: Outlet, of destination: QueuedDestination) {
        self.name = name
        self.destination = destination
    }

    /// Something happened that may let it hand over a packet.
    func note() {
        guard !isNoted else { return }
        isNoted = true
        destination.note(self)
    }

    /// Files the stream where it belongs now: called after each change of what waits in it.
    func schedule(_ stream: QueuedStream, _ now: WallTime) {
        guard stream.waitingRows > 0 else { return }
        note()
        guard !stream.isRipe else { return }
        if isFull(stream) || stream.sealedThrough < stream.flushThrough {
            ripe.append(stream, isFresh: isFresh(stream, now))
        } else if !stream.isAging {
            stream.isAging = true
            aging.add(stream, at: due(stream))
        }
        sweep()
    }

    /// Streams leave the lines as packets are asked for. While none are, those that are empty would stay, and
    /// each device that comes and goes leave one.
    private func sweep() {
        let most = 2 * streamCount + 64
        if ripe.count > most { ripe.sweep() }
        guard aging.count > most else { return }
        aging.removeAll { stream in
            guard stream.waitingRows == 0 else { return false }
            stream.isAging = false
            return true
        }
    }

    /// Places in the lines that are taken.
    var filed: Int { ripe.count + aging.count }

    /// The caller files its streams again.
    func forgetAges() {
        aging = PriorityQueue<WallTime, QueuedStream>()
    }

    /// A whole packet waits in it.
    func isFull(_ stream: QueuedStream) -> Bool {
        let limits = destination.limits
        return stream.waitingRaw >= limits.rawBytes || stream.waitingLogs >= limits.logs
    }

    /// Its oldest log is no backlog. Where fresh logs have no share nothing is fresh.
    func isFresh(_ stream: QueuedStream, _ now: WallTime) -> Bool {
        destination.rules.freshPercent > 0 && now < due(stream) + Self.freshAge
    }

    private func due(_ stream: QueuedStream) -> WallTime {
        stream.oldest + destination.limits.age
    }

    /// The next stream to seal from, if one is ripe.
    func nextRipe(_ now: WallTime) -> QueuedStream? {
        while let stream = aging.takeFirst(upTo: now)?.element {
            stream.isAging = false
            guard stream.waitingRows > 0, !stream.isRipe else { continue }
            // Its oldest rows may have left since it was filed.
            if due(stream) <= now {
                ripe.append(stream, isFresh: isFresh(stream, now))
            } else {
                schedule(stream, now)
            }
        }
        return ripe.next(freshPercent: destination.rules.freshPercent) { isFresh($0, now) }
    }

    /// The next one to hand over of packets that were refused.
    func nextPiece() -> Int64? {
        if let piece = pieces.popFirst() { return piece }
        return roomWaiters < Self.roomWaitersMax ? heldBack.popFirst() : nil
    }

    /// There may be a packet to hand over.
    func mayGive(_ now: WallTime) -> Bool {
        ripe.count > 0 || !pieces.isEmpty || !sealedBefore.isEmpty || !postponed.isEmpty
            || nextDue.map { $0 <= now } ?? false
            || (!heldBack.isEmpty && roomWaiters < Self.roomWaitersMax)
    }

    /// When the next stream comes of age.
    var nextDue: WallTime? { aging.nextKey }
}
