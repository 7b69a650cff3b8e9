import Queue
import SQLite
import System

/// The streams, and the order in which their logs leave.
///
/// With `fresh_first` a stream whose logs wait for long takes no more. Later logs go to a new
/// stream of the same key, a generation, so some of them can leave before. Within a generation
/// nothing is reordered. On disk a generation is an ordinary stream; of several with one key the
/// newest takes the batches.
final class StreamBook: StorePart {
    let context: StoreContext
    let ages: AgeBook
    let weight: QueueWeight
    let destinations: DestinationBook
    /// The newest stream of each key, which refers to the earlier ones, counted by
    /// `earlierStreams`.
    private var streams: [StreamKey: QueuedStream] = [:] { didSet { lastFound = nil } }
    /// The stream that was looked up last. A batch is looked up twice, and most have the stream of
    /// the batch before; comparing a key takes a tenth of hashing it.
    private var lastFound: QueuedStream?
    private var earlierStreams = 0
    private(set) var busyCount = 0
    private var shares: StreamShares
    private var resting = Fifo<QueuedStream>()
    private var restingBytes = 0

    init(_ ages: AgeBook, _ weight: QueueWeight, _ destinations: DestinationBook) {
        context = ages.context
        self.ages = ages
        self.weight = weight
        self.destinations = destinations
        shares = StreamShares(ages.context.configuration.streamBounds)
    }

    static let generationsMax = 256

    /// All streams. Those of one key come newest first.
    var every: some Sequence<QueuedStream> {
        streams.values.lazy.flatMap { sequence(first: $0, next: \.earlier) }
    }

    var newest: some Collection<QueuedStream> { streams.values }

    /// The stream that takes batches of the key. Nil if a new one is needed.
    func taker(
        of key: StreamKey,
        by origin: StreamShares.Origin,
        _ time: WallTime
    ) -> QueuedStream? {
        guard let newest = newest(of: key), !newest.isRenamed, !isOver(newest, by: origin, time)
        else { return nil }
        return newest
    }

    private func newest(of key: StreamKey) -> QueuedStream? {
        if let lastFound, lastFound.key == key { return lastFound }
        lastFound = streams[key]
        return lastFound
    }

    /// True if later logs should not wait for the stream's. A stream with at most one packet leaves
    /// at once, and while nothing leaves at all there is no order to choose.
    private func isOver(
        _ stream: QueuedStream,
        by origin: StreamShares.Origin,
        _ time: WallTime
    ) -> Bool {
        let outlet = stream.outlet
        guard outlet.destination.rules.freshPercent > 0, outlet.isFull(stream),
            !outlet.isFresh(stream, time), let last = outlet.lastSealed,
            time - last < QueuedOutlet.freshAge
        else { return false }
        // Each generation weighs as a stream of its own and must not take another key's place.
        guard shares.hasAmpleRoom(outlet.name.destination, origin) else { return false }
        var count = 0
        for _ in sequence(first: stream, next: \.earlier) { count += 1 }
        return count < Self.generationsMax
    }

    /// The stream that takes batches of the key: a new one if its logs have waited too long.
    func obtain(
        _ key: StreamKey,
        by origin: StreamShares.Origin,
        _ time: WallTime
    ) throws(SQLiteError) -> QueuedStream {
        if let known = taker(of: key, by: origin, time) { return known }
        try database.write()
        let record = StreamRecord(
            id: try context.takeNumber(),
            key: key,
            packPrefix: hex(randomBytes(8), upper: true),
            nextPack: 1
        )
        try database.streams.add(record)
        let new = QueuedStream(record, destinations.outlet(key.outlet))
        enter(new)
        // A renamed stream before the new one may be empty.
        if let before = new.earlier, before.isEmpty { try remove(before) }
        return new
    }

    func enter(_ stream: QueuedStream) {
        stream.earlier = streams[stream.key]
        streams[stream.key] = stream
        if stream.earlier != nil { earlierStreams += 1 }
    }

    /// Schedules the next generation after this one became empty. Only the eldest with waiting rows
    /// is in the backlog's line, so a key has one turn and leaves in order.
    func scheduleNext(after stream: QueuedStream, _ time: WallTime) {
        guard earlierStreams > 0, stream.waiting.isEmpty, let newest = streams[stream.key] else {
            return
        }
        var eldest: QueuedStream?
        for generation in sequence(first: newest, next: \.earlier)
        where !generation.waiting.isEmpty {
            eldest = generation
        }
        if let eldest { eldest.outlet.schedule(eldest, time) }
    }

    func remove(_ stream: QueuedStream) throws(SQLiteError) {
        try database.write()
        try database.streams.remove(stream.id)
        if let newest = streams[stream.key], newest !== stream {
            var later = newest
            while let next = later.earlier, next !== stream { later = next }
            later.earlier = stream.earlier
            earlierStreams -= 1
        } else {
            streams[stream.key] = nil
        }
        destinations.leave(stream.outlet)
    }

    func reserve(_ count: Int) { streams.reserveCapacity(count) }

    // MARK: - Streams that are not empty

    func wake(_ stream: QueuedStream, by origin: StreamShares.Origin) {
        guard !stream.isBusy else { return }
        stream.origin = origin
        shares.take(stream.outlet.name.destination, origin)
        busyCount += 1
        let outlet = stream.outlet
        outlet.busyStreams += 1
        if outlet.busyStreams == 1 {
            outlet.destination.change(of: .busy(outlet.name.logstore))
        }
        weight.weigh(stream.destination, bytes: stream.cost)
    }

    func sleep(_ stream: QueuedStream) {
        guard let origin = stream.origin.take() else { return }
        shares.giveBack(stream.outlet.name.destination, origin)
        busyCount -= 1
        let outlet = stream.outlet
        outlet.busyStreams -= 1
        if outlet.busyStreams == 0 {
            outlet.destination.change(of: .quiet(outlet.name.logstore))
        }
        weight.weigh(stream.destination, bytes: -stream.cost)
    }

    /// Takes the share of a stream to come, to find places for all that a request needs.
    func takeShare(_ destination: String, _ origin: StreamShares.Origin) -> QueueAdmission? {
        defer { shares.take(destination, origin) }
        return switch shares.shortage(destination, origin) {
        case .queue: .tooManyStreams
        case .destination: .tooManyStreamsOfDestination
        case .sender: .tooManyStreamsOfSender
        case nil: nil
        }
    }

    func giveShareBack(_ destination: String, _ origin: StreamShares.Origin) {
        shares.giveBack(destination, origin)
    }

    func changeShares(to bounds: StreamShares.Bounds) { shares.change(to: bounds) }

    // MARK: - Empty streams

    /// Files a stream that may have become empty, and removes the longest empty ones: a fleet whose
    /// devices come and go leaves nothing behind.
    func rest(_ stream: QueuedStream) throws(SQLiteError) {
        if stream.isEmpty { sleep(stream) }
        if stream.isEmpty, let newest = streams[stream.key] {
            // An earlier generation takes no more logs. The newest may have waited for its end.
            if newest !== stream { try remove(stream) }
            if newest.isEmpty, newest.earlier == nil { lineUp(newest) }
        }
        let tuning = configuration.tuning
        while resting.count > tuning.idleStreams || restingBytes > tuning.idleStreamBytes,
            let oldest = resting.popFirst()
        {
            oldest.leave(.resting)
            restingBytes -= oldest.cost
            // The stream may have been used since, or be gone.
            guard oldest.isEmpty, oldest.earlier == nil, streams[oldest.key] === oldest else {
                continue
            }
            try remove(oldest)
        }
    }

    private func lineUp(_ stream: QueuedStream) {
        guard !stream.isIn(.resting) else { return }
        stream.enter(.resting)
        resting.append(stream)
        restingBytes += stream.cost
    }

    // MARK: - Lines

    /// Files all streams again after a change of ages or limits.
    func rescheduleAll() {
        for destination in destinations.all {
            destination.oldestFirst?.dissolve()
            destination.oldestFirst = nil
            for outlet in destination.outlets.values { outlet.emptyAges() }
        }
        let time = now()
        for stream in every {
            stream.outlet.schedule(stream, time)
        }
    }

    /// Lets all waiting logs of the destination be sealed, oldest first, as on the disk: in any
    /// other order each packet would touch other pages.
    func flush(_ name: String) {
        guard let destination = destinations[name] else { return }
        let waiting =
            every
            .filter { $0.destination === destination && !$0.waiting.isEmpty }
            .sorted { ($0.waiting.oldest, $0.id) < ($1.waiting.oldest, $1.id) }
        let time = now()
        for stream in waiting {
            stream.waiting.flush()
            stream.outlet.schedule(stream, time)
        }
    }

    /// Handles a step of the clock: no stream waits for a time that was taken back.
    func shiftAges(by forward: Duration) {
        for stream in every {
            stream.waiting.setOldest(min(stream.waiting.oldest + forward, ages.basis.since))
        }
        rescheduleAll()
    }
}
