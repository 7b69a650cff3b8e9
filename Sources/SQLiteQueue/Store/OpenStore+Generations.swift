import Queue
import SQLite
import System

// With `fresh_first` a stream whose logs wait for long is left as it is: what comes later goes to a new stream of
// the same key, a generation of its own, so that some of it can leave before. Nothing is reordered within one, and
// to the disk it is a stream like any other; of several with one key the one made last takes the batches.
extension OpenStore {
    /// Of one key.
    static let generationsMax = 256

    /// All streams, of each key the newest first.
    var everyStream: some Sequence<QueuedStream> {
        streams.values.lazy.flatMap { sequence(first: $0, next: \.earlier) }
    }

    /// The stream that takes batches of the key; nil when that is to be a new one.
    func taker(
        of key: StreamKey,
        by maker: StreamShares.Maker,
        _ time: WallTime
    ) -> QueuedStream? {
        guard let newest = streams[key], !newest.isRenamed, !isOver(newest, by: maker, time) else {
            return nil
        }
        return newest
    }

    /// Whether later logs should not have to wait for those of the stream. What is no more than a packet leaves
    /// at once; and while nothing leaves at all there is no order to choose.
    private func isOver(
        _ stream: QueuedStream,
        by maker: StreamShares.Maker,
        _ time: WallTime
    ) -> Bool {
        let outlet = stream.outlet
        guard outlet.destination.rules.freshPercent > 0, outlet.isFull(stream),
            !outlet.isFresh(stream, time), let last = outlet.lastSealed,
            time - last < QueuedOutlet.freshAge
        else { return false }
        // Each weighs as a stream of its own, and must not take another key's place.
        guard shares.hasAmpleRoom(outlet.name.destination, maker) else { return false }
        var count = 0
        for _ in sequence(first: stream, next: \.earlier) { count += 1 }
        return count < Self.generationsMax
    }

    /// The stream is the newest of its key.
    func enter(_ stream: QueuedStream) {
        stream.earlier = streams[stream.key]
        streams[stream.key] = stream
        if stream.earlier != nil { earlierStreams += 1 }
    }

    /// Of a key's generations only the eldest in which something waits stands in the line of the backlog: the key
    /// has one turn, however many it has, and leaves in order. When nothing waits in one any more, the next takes
    /// its place.
    func scheduleNext(after stream: QueuedStream, _ time: WallTime) {
        guard earlierStreams > 0, stream.waitingRows == 0, let newest = streams[stream.key] else {
            return
        }
        var eldest: QueuedStream?
        for generation in sequence(first: newest, next: \.earlier)
        where generation.waitingRows > 0 {
            eldest = generation
        }
        if let eldest { eldest.outlet.schedule(eldest, time) }
    }

    /// Nothing is in it, and its record goes.
    func forget(_ stream: QueuedStream) throws(SQLiteError) {
        try database.write()
        try database.removeStream(stream.id)
        if let newest = streams[stream.key], newest !== stream {
            var later = newest
            while let next = later.earlier, next !== stream { later = next }
            later.earlier = stream.earlier
            earlierStreams -= 1
        } else {
            streams[stream.key] = nil
        }
        leave(stream.outlet)
    }
}
