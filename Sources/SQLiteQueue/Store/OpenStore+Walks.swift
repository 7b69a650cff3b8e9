import Queue
import System

// Walks over all that the store knows: once a second for the status, and for operators.
extension OpenStore {
    func survey(_ demand: Demand) -> [String: Survey] {
        // The sums are kept in the outlets: a lookup of each by name would cost more than the walk.
        for destination in destinations.all {
            for outlet in destination.outlets.values { outlet.seen = QueueStatus.Outlet() }
        }
        for stream in streams.every where !stream.waiting.isEmpty {
            stream.outlet.see(logs: stream.waiting.logs, since: stream.waiting.oldest)
        }
        for packet in packets.all {
            packet.stream.outlet.see(logs: packet.record.logs, since: packet.record.oldest)
            packet.stream.outlet.seen.packets += 1
        }
        var surveys: [String: Survey] = [:]
        for destination in destinations.all {
            var survey = Survey()
            for (logstore, outlet) in destination.outlets where outlet.seen.queued > 0 {
                outlet.seen.demand = demand.byOutlet[outlet.name] ?? 0
                outlet.seen.lanesInUse = outlet.lanes.busyCount
                survey.outlets[logstore] = outlet.seen
                let oldest = outlet.seen.oldest
                survey.oldest = [survey.oldest, oldest].compactMap(\.self).min()
            }
            surveys[destination.name] = survey
        }
        return surveys
    }

    /// Compares each ledger with itself and with separate counts, between transactions.
    func imbalances() -> [Imbalance] {
        destinations.all.compactMap { destination in
            let ledger = destination.ledger
            let aside = acknowledgements.aside(of: destination.name)
            let queued = destination.queuedLogs + Int(aside.queued)
            let dead = destination.deadLetters + Int(aside.dead)
            guard !ledger.isClosed || ledger.queued != queued || ledger.dead != dead else {
                return nil
            }
            return Imbalance(
                destination: destination.name,
                ledger: ledger,
                queued: queued,
                dead: dead
            )
        }
    }

    /// Looks once at every stream and packet and keeps the wanted ones: a few milliseconds with
    /// 100,000 streams. Generations of a key count as one stream.
    func listing(_ wish: StreamWish) -> StreamListing {
        var sealed: [Int64: SealedSum] = [:]
        for packet in packets.all {
            sealed[packet.stream.id, default: SealedSum()].add(packet.record)
        }
        var tops: [ObjectIdentifier: (name: String, top: TopStreams)] = [:]
        for newest in streams.newest {
            let destination = newest.destination
            guard wish.destination ?? destination.name == destination.name,
                let candidate = TopStreams.Candidate(newest, sealed, wish.order)
            else { continue }
            tops[
                ObjectIdentifier(destination),
                default: (
                    destination.name, TopStreams(countMax: min(wish.count, StreamWish.countMax))
                )
            ].top.offer(candidate)
        }
        return StreamListing(
            Dictionary(uniqueKeysWithValues: tops.values.map { ($0.name, $0.top.listed) })
        )
    }
}

/// The findings about a destination from a walk over all streams and packets.
struct Survey {
    var oldest: WallTime?
    var outlets: [String: QueueStatus.Outlet] = [:]
}

extension QueuedOutlet {
    fileprivate func see(logs: Int, since time: WallTime) {
        seen.queued += logs
        seen.oldest = seen.oldest.map { min($0, time) } ?? time
    }
}

/// A ledger that disagrees with the store.
struct Imbalance: Equatable {
    let destination: String
    let ledger: Ledger
    /// The separate counts, which change when logs and dead letters come and go.
    let queued: Int
    let dead: Int

    /// The difference in logs, in either direction; never 0.
    var logs: Int {
        Int(clamping: (ledger.accepted - ledger.settled).magnitude)
            + Int(clamping: (ledger.queued - Int64(queued)).magnitude)
            + Int(clamping: (ledger.dead - Int64(dead)).magnitude)
    }
}

/// Packets of a stream that are sealed and not acknowledged.
struct SealedSum {
    var logs = 0
    var raw = 0
    var packets = 0
    var oldest = WallTime(nanoseconds: .max)

    mutating func add(_ packet: PacketRecord) {
        logs += packet.logs
        raw += packet.raw
        packets += 1
        oldest = min(oldest, packet.oldest)
    }
}

/// The first of many streams in an order, in bounded memory: a heap with the last of them on top.
struct TopStreams {
    /// The last place is the least. Among equal ranks the older stream comes first.
    fileprivate struct Place: Comparable {
        let rank: Int64
        let stream: Int64

        static func < (left: Place, right: Place) -> Bool {
            (left.rank, left.stream) > (right.rank, right.stream)
        }
    }

    struct Candidate {
        let stream: QueuedStream
        private let sum: SealedSum
        fileprivate let place: Place

        /// Nil if nothing waits in any generation of the key. `newest` is the newest of them.
        init?(_ newest: QueuedStream, _ sealed: [Int64: SealedSum], _ order: StreamWish.Order) {
            var sum = SealedSum()
            var next: QueuedStream? = newest
            while let stream = next {
                if !stream.waiting.isEmpty {
                    sum.logs += stream.waiting.logs
                    sum.raw += stream.waiting.raw
                    sum.oldest = min(sum.oldest, stream.waiting.oldest)
                }
                if stream.packetCount > 0, let packets = sealed[stream.id] {
                    sum.logs += packets.logs
                    sum.raw += packets.raw
                    sum.packets += packets.packets
                    sum.oldest = min(sum.oldest, packets.oldest)
                }
                next = stream.earlier
            }
            guard sum.logs > 0 else { return nil }
            stream = newest
            self.sum = sum
            let rank =
                switch order {
                case .oldest: sum.oldest.nanoseconds
                case .largest: -Int64(sum.raw)
                }
            place = Place(rank: rank, stream: newest.id)
        }

        var entry: StreamListing.Entry {
            StreamListing.Entry(
                stream: stream.key,
                logs: sum.logs,
                rawBytes: sum.raw,
                packets: sum.packets,
                oldest: sum.oldest
            )
        }
    }

    private let countMax: Int
    private var queue = PriorityQueue<Place, Candidate>()
    private var offered = 0

    init(countMax: Int) {
        self.countMax = countMax
    }

    mutating func offer(_ candidate: Candidate) {
        offered += 1
        if queue.count == countMax {
            guard let last = queue.nextKey, last < candidate.place else { return }
            _ = queue.takeFirst()
        }
        queue.add(candidate, at: candidate.place)
    }

    var listed: StreamListing.Destination {
        var queue = queue
        var entries: [StreamListing.Entry] = []
        while let (_, last) = queue.takeFirst() { entries.append(last.entry) }
        return StreamListing.Destination(
            entries: entries.reversed(),
            more: offered - entries.count
        )
    }
}
