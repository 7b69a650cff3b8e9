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
    /// Cut from packets that were refused: they go first.
    var pieces = Pieces()
    /// Sealed and not handed over, of an earlier life for example: they go next.
    var sealedBefore = Fifo<Int64>()
    var lanes = OutletLanes()
    /// Of the last survey.
    var seen = QueueStatus.Outlet()
    /// Streams to seal from, in the order in which they became ripe: each gets its turn.
    private var ripe = Fifo<QueuedStream>()
    private var aging = AgeHeap()

    init(_ name: Outlet, of destination: QueuedDestination) {
        self.name = name
        self.destination = destination
    }

    /// Files the stream where it belongs now: called after each change of what waits in it.
    func schedule(_ stream: QueuedStream) {
        guard stream.waitingRows > 0, !stream.isRipe else { return }
        let limits = destination.limits
        let isFull = stream.waitingRaw >= limits.rawBytes || stream.waitingLogs >= limits.logs
        if isFull || stream.sealedThrough < stream.flushThrough {
            ripen(stream)
        } else if !stream.isAging {
            stream.isAging = true
            aging.insert(stream, due: due(stream))
        }
    }

    /// Its streams are filed anew by whoever calls this.
    func forgetAges() {
        aging = AgeHeap()
    }

    private func ripen(_ stream: QueuedStream) {
        stream.isRipe = true
        ripe.append(stream)
    }

    private func due(_ stream: QueuedStream) -> WallTime {
        stream.oldest + destination.limits.age
    }

    /// The next stream to seal from, if one is ripe.
    func nextRipe(_ now: WallTime) -> QueuedStream? {
        while let first = aging.first, first.due <= now {
            let stream = aging.removeFirst()
            stream.isAging = false
            guard stream.waitingRows > 0, !stream.isRipe else { continue }
            // Its oldest rows may have left since it was filed.
            if due(stream) <= now {
                ripen(stream)
            } else {
                schedule(stream)
            }
        }
        while let stream = ripe.popFirst() {
            stream.isRipe = false
            if stream.waitingRows > 0 { return stream }
        }
        return nil
    }

    /// When the next stream comes of age.
    var nextDue: WallTime? { aging.first?.due }
}
