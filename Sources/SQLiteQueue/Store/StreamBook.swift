import Queue
import SQLite
import System

/// The streams, and in which order their logs leave.
///
/// With `fresh_first` a stream whose logs wait for long is left as it is: what comes later goes to a new stream of the same
/// key, a generation of its own, so that some of it can leave before. Nothing is reordered within one, and to the disk it
/// is a stream like any other; of several with one key the one made last takes the batches.
final class StreamBook: StorePart {
    let context: StoreContext
    private let ages: AgeBook
    private let weight: QueueWeight
    private let destinations: DestinationBook
    /// The newest stream of each key, which refers to the earlier ones; and how many these are.
    private var streams: [StreamKey: QueuedStream] = [:]
    private var earlierStreams = 0
    /// Streams that are not empty.
    private(set) var busyCount = 0
    private var shares: StreamShares
    /// Empty streams, in the order in which they became so.
    private var resting = Fifo<QueuedStream>()
    private var restingBytes = 0

    init(_ ages: AgeBook, _ weight: QueueWeight, _ destinations: DestinationBook) {
        context = ages.context
        self.ages = ages
        self.weight = weight
        self.destinations = destinations
        shares = StreamShares(ages.context.configuration.streamBounds)
    }

    /// Generations of one key.
    static let generationsMax = 256

    /// All streams, of each key the newest first.
    var every: some Sequence<QueuedStream> {
        streams.values.lazy.flatMap { sequence(first: $0, next: \.earlier) }
    }

    /// The newest stream of each key.
    var newest: some Collection<QueuedStream> { streams.values }

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

    /// Later logs should not have to wait for those of the stream. What is no more than a packet leaves
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

    /// The stream that takes batches of the key: a new one where there is none, or its logs have waited too long.
    func obtain(
        _ key: StreamKey,
        by maker: StreamShares.Maker,
        _ time: WallTime
    ) throws(SQLiteError) -> QueuedStream {
        if let known = taker(of: key, by: maker, time) { return known }
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
        // Before one that was renamed, which may have nothing any more.
        if let before = new.earlier, before.isEmpty { try forget(before) }
        return new
    }

    /// The stream is the newest of its key.
    func enter(_ stream: QueuedStream) {
        stream.earlier = streams[stream.key]
        streams[stream.key] = stream
        if stream.earlier != nil { earlierStreams += 1 }
    }

    /// Only the eldest of a key's generations in which something waits stands in the line of the backlog: the key
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

    func wake(_ stream: QueuedStream, by maker: StreamShares.Maker) {
        guard !stream.isBusy else { return }
        stream.isBusy = true
        stream.maker = maker
        shares.take(stream.outlet.name.destination, maker)
        busyCount += 1
        let outlet = stream.outlet
        outlet.busyStreams += 1
        if outlet.busyStreams == 1 {
            outlet.destination.change(of: .busy(outlet.name.logstore))
        }
        weight.weigh(stream.destination, bytes: stream.cost)
    }

    func sleep(_ stream: QueuedStream) {
        guard stream.isBusy else { return }
        stream.isBusy = false
        shares.giveBack(stream.outlet.name.destination, stream.maker)
        busyCount -= 1
        let outlet = stream.outlet
        outlet.busyStreams -= 1
        if outlet.busyStreams == 0 {
            outlet.destination.change(of: .quiet(outlet.name.logstore))
        }
        weight.weigh(stream.destination, bytes: -stream.cost)
    }

    /// Takes the share of a stream that is not there yet, to find places for all that a request needs. Returns why there
    /// is none.
    func takeShare(_ destination: String, _ maker: StreamShares.Maker) -> QueueAdmission? {
        defer { shares.take(destination, maker) }
        return switch shares.shortage(destination, maker) {
        case .queue: .tooManyStreams
        case .destination: .tooManyStreamsOfDestination
        case .sender: .tooManyStreamsOfSender
        case nil: nil
        }
    }

    func giveShareBack(_ destination: String, _ maker: StreamShares.Maker) {
        shares.giveBack(destination, maker)
    }

    func changeShares(to bounds: StreamShares.Bounds) { shares.change(to: bounds) }

    // MARK: - Empty streams

    /// Files a stream that may have become empty, and forgets the longest empty ones: a fleet whose
    /// devices come and go leaves no trail.
    func rest(_ stream: QueuedStream) throws(SQLiteError) {
        if stream.isEmpty { sleep(stream) }
        if stream.isEmpty, let newest = streams[stream.key] {
            // An earlier generation takes nothing more, and the newest may have waited for it to go.
            if newest !== stream { try forget(stream) }
            if newest.isEmpty, newest.earlier == nil { lineUp(newest) }
        }
        let tuning = configuration.tuning
        while resting.count > tuning.idleStreams || restingBytes > tuning.idleStreamBytes,
            let oldest = resting.popFirst()
        {
            oldest.isResting = false
            restingBytes -= oldest.cost
            // It may have been used since, or be gone.
            guard oldest.isEmpty, oldest.earlier == nil, streams[oldest.key] === oldest else {
                continue
            }
            try forget(oldest)
        }
    }

    private func lineUp(_ stream: QueuedStream) {
        guard !stream.isResting else { return }
        stream.isResting = true
        resting.append(stream)
        restingBytes += stream.cost
    }

    // MARK: - Lines

    /// Files all streams where they belong by new ages or limits.
    func scheduleAnew() {
        for destination in destinations.all {
            destination.oldestFirst?.dissolve()
            destination.oldestFirst = nil
            for outlet in destination.outlets.values { outlet.forgetAges() }
        }
        let time = now()
        for stream in every {
            stream.isAging = false
            stream.outlet.schedule(stream, time)
        }
    }

    /// Lets everything that waits for the destination be sealed as it is, the oldest first: that is also the
    /// order on the disk, and in another one each packet would touch pages of its own.
    func flush(_ name: String) {
        guard let destination = destinations[name] else { return }
        let waiting =
            every
            .filter { $0.destination === destination && $0.waitingRows > 0 }
            .sorted { ($0.oldest, $0.id) < ($1.oldest, $1.id) }
        let time = now()
        for stream in waiting {
            stream.flushThrough = stream.lastRow
            stream.outlet.schedule(stream, time)
        }
    }

    /// The clock was stepped: no stream waits for a time that was taken back.
    func shiftAges(by forward: Duration) {
        for stream in every {
            stream.oldest = min(stream.oldest + forward, ages.basis.since)
        }
        scheduleAnew()
    }
}
