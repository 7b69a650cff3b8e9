/// The ripe streams of an outlet, in the order in which they became ripe. Each gets its turn.
///
/// If fresh logs have a share, streams whose oldest log is fresh are in a separate line. While both
/// lines have streams, the fresh line gets its share of the turns.
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

    /// Removes streams in which nothing waits.
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
