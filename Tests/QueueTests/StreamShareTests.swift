import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Streams whose tags devices invent.
@Suite(.timeLimit(.minutes(10))) struct StreamShareTests {
    let directory = TemporaryDirectory()

    private func open(
        streamsMax: Int = 100,
        senders: Int = 1,
        destinations: [String] = ["app"],
        journal: Journal = .silent
    ) throws -> DurableQueue {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.streamsMax = streamsMax
        configuration.senders = senders
        configuration.destinations = Dictionary(
            uniqueKeysWithValues: destinations.map { ($0, configuration.rules("app")) }
        )
        return try directory.open(configuration, journal: journal)
    }

    /// Sends logs of so many new streams, each in a request of its own, until one is refused.
    private func fill(
        _ store: DurableQueue,
        _ sender: String?,
        _ destination: String = "app",
        atMost most: Int = 1000
    ) -> (stored: Int, refusal: AppendOutcome?) {
        for number in 0..<most {
            let name = "\(sender ?? "none") \(number)"
            let outcome = send(store, sender, [.named(name, destination: destination)])
            guard outcome == .stored else { return (number, outcome) }
        }
        return (most, nil)
    }

    private func send(_ store: DurableQueue, _ sender: String?, _ streams: [StreamKey])
        -> AppendOutcome
    {
        store.store(streams.map { Batch(stream: $0, logs: logs([1])) }, sender: sender)
    }

    @Test("A key with invented tags leaves room to the others, who find their reserve")
    func keys() throws {
        let store = try open(senders: 2)
        let greedy = fill(store, "greedy")
        #expect(greedy.stored == 50)
        #expect(greedy.refusal == .refused(.tooManyStreamsOfSender))
        let other = fill(store, "other")
        #expect(other.stored >= 25)
        // What is known already takes more logs.
        #expect(send(store, "greedy", [.named("greedy 1")]) == .stored)
        #expect(store.status.streams == 50 + other.stored)
        #expect(store.status.streamRefusals.sender == 2)
    }

    @Test("A destination with invented tags leaves room to the others")
    func destinations() throws {
        let store = try open(destinations: ["app", "other"])
        let greedy = fill(store, nil)
        #expect(greedy.stored == 50)
        #expect(greedy.refusal == .refused(.tooManyStreamsOfDestination))
        #expect(fill(store, nil, "other").stored >= 25)
        #expect(store.status.streamRefusals.destination == 2)
    }

    @Test("A key finds its reserve in each destination, whatever the others took of both")
    func both() throws {
        let names = ["app", "other", "third"]
        let store = try open(streamsMax: 240, senders: 3, destinations: names)
        for key in ["a", "b"] {
            for name in names {
                let filled = fill(store, key, name)
                #expect(filled.refusal != nil && filled.stored >= 6, "\(key) \(name)")
            }
        }
        for name in names { #expect(fill(store, "late", name).stored >= 6, "\(name)") }
        #expect(store.status.streams <= 240)
    }

    @Test("Where there is one destination and no key, all streams are for whoever comes")
    func alone() throws {
        let store = try open(streamsMax: 10)
        let filled = fill(store, nil)
        #expect(filled.stored == 10 && filled.refusal == .refused(.tooManyStreams))
        #expect(store.status.streamRefusals.queue == 1)
    }

    @Test("One request with many label sets is refused as a whole, and takes nothing")
    func together() throws {
        let store = try open(senders: 2)
        func push(_ count: Int, _ sender: String) -> AppendOutcome {
            send(store, sender, (0..<count).map { .named("\(sender) \($0)") })
        }
        #expect(push(51, "a") == .refused(.tooManyStreamsOfSender))
        #expect(store.status.streams == 0)
        #expect(push(50, "a") == .stored)
        #expect(push(25, "b") == .stored)
        #expect(push(50, "a") == .stored)
    }

    @Test(
        "Streams of before a restart belong to no key, and a reserve is left to each all the same"
    )
    func restart() throws {
        var store = try open(senders: 4)
        #expect(fill(store, "greedy").stored > 12)
        store.close()
        store = try open(senders: 4)
        defer { store.close() }
        _ = fill(store, "greedy")
        for key in ["b", "c", "d"] { #expect(fill(store, key, atMost: 12).stored == 12, "\(key)") }
    }

    @Test("Delivered streams give their places back")
    func delivered() throws {
        let store = try open(streamsMax: 8, senders: 2)
        let consumer = Consumer(store)
        for _ in 0..<3 {
            #expect(fill(store, "a").stored == 4)
            store.flush("app")
            for packet in consumer.packets(4) { store.end(packet, .stored) }
            store.wait { $0.rows == 0 }
        }
        #expect(store.status.streams == 0)
    }

    @Test("The journal says whose share is used up, once a minute, and what to do")
    func announced() throws {
        let lines = Awaited<String>()
        let store = try open(streamsMax: 8, senders: 2, journal: lines.journal())
        for _ in 0..<3 { _ = fill(store, "web") }
        store.close()
        let said = lines.take(lines.count)
        #expect(said.count == 1)
        #expect(said[0].contains(#""key":"web""#) && said[0].contains("queue.max_streams"))
        #expect(said[0].contains(#""share_of":"key""#))
    }
}

@Suite(.timeLimit(.minutes(10))) struct StreamListingTests {
    let directory = TemporaryDirectory()
    let clock = ManualClock()

    private func open(_ change: (inout QueueConfiguration) -> Void = { _ in }) throws
        -> DurableQueue
    {
        try directory.queue(clock: clock.queueClock, change)
    }

    private func fill(
        _ store: DurableQueue,
        _ name: String,
        _ count: Int,
        of destination: String = "app"
    ) {
        let key = StreamKey.named(name, destination: destination)
        #expect(store.store(Batch(stream: key, logs: logs(0..<count))) == .stored)
        clock.advance(.seconds(10))
    }

    private func list(
        _ store: DurableQueue,
        _ count: Int = 20,
        _ order: StreamWish.Order = .oldest,
        of destination: String? = nil
    ) -> StreamListing? {
        var wish = StreamWish()
        wish.count = count
        wish.order = order
        wish.destination = destination
        return answer { store.list(wish, $0) }
    }

    private func names(_ listing: StreamListing?, _ destination: String = "app") -> [String] {
        listing?.destinations[destination]?.entries.map(\.stream.trailer.topic) ?? []
    }

    @Test(
        "The streams that wait longest come first, or those with most, and the others are counted"
    )
    func orders() throws {
        let store = try open()
        for (name, count) in [("a", 2), ("b", 50), ("c", 10), ("d", 30)] {
            fill(store, name, count)
        }
        fill(store, "e", 1, of: "other")
        // More of it changes nothing about how long it has waited.
        fill(store, "a", 1)
        let oldest = list(store, 3)
        #expect(names(oldest) == ["a", "b", "c"])
        #expect(oldest?.destinations["app"]?.more == 1)
        #expect(names(oldest, "other") == ["e"])
        #expect(names(list(store, 2, .largest)) == ["b", "d"])
        let one = list(store, 1, of: "other")
        #expect(names(one, "other") == ["e"] && one?.destinations.count == 1)
        #expect(list(store, 0)?.destinations["app"]?.more == 4)
        let first = try #require(oldest?.destinations["app"]?.entries.first)
        #expect(first.logs == 3 && first.packets == 0)
        #expect(first.rawBytes == logs(0..<2).bytes.count + logs(0..<1).bytes.count)
        #expect(first.oldest == WallTime(seconds: 1_800_000_000))
    }

    @Test("What is sealed counts until it is acknowledged, and an empty stream is not shown")
    func sealed() throws {
        let store = try open { $0.destinations["app"]?.packet.age = .seconds(1) }
        let consumer = Consumer(store)
        fill(store, "a", 5)
        let packet = consumer.packets(1)[0]
        fill(store, "a", 2)
        let entry = list(store)?.destinations["app"]?.entries.first
        #expect(entry?.logs == 7 && entry?.packets == 1)
        #expect(entry?.oldest == WallTime(seconds: 1_800_000_000))
        store.end(packet, .stored)
        let later = list(store)?.destinations["app"]?.entries.first
        #expect(later?.logs == 2 && later?.oldest == WallTime(seconds: 1_800_000_010))
        store.end(consumer.packets(1)[0], .stored)
        #expect(names(list(store)) == [])
    }

    @Test("Generations of a key are one stream")
    func generations() throws {
        let store = try open {
            let limits = PacketLimits(rawBytes: 1 << 20, logs: 10, age: .seconds(1))
            var rules = DestinationRules(packet: limits)
            rules.freshPercent = 20
            $0.destinations = ["app": rules]
        }
        let consumer = Consumer(store)
        fill(store, "a", 10)
        fill(store, "a", 10)
        clock.advance(.seconds(100))
        let first = consumer.packets(1)
        fill(store, "a", 10)
        let entries = list(store)?.destinations["app"]?.entries ?? []
        #expect(entries.map(\.logs) == [30] && entries.first?.packets == 1)
        withExtendedLifetime(first) {}
    }

    @Test("Of many the first are the same as if all were sorted", arguments: [1, 7, 100, 1000])
    func many(count: Int) throws {
        let store = try open()
        let sizes = (0..<300).map { _ in Int.random(in: 1...60) }
        let batches = sizes.enumerated().map { index, size in
            Batch(stream: .named("\(index)"), logs: logs(0..<size))
        }
        #expect(store.store(batches) == .stored)
        let sorted = sizes.enumerated().sorted { ($1.element, $0.offset) < ($0.element, $1.offset) }
        let listing = list(store, count, .largest)
        #expect(names(listing) == sorted.prefix(count).map { "\($0.offset)" })
        #expect(listing?.destinations["app"]?.more == max(0, 300 - count))
    }

    @Test("Of many who look at once a few are answered, one a turn, and none is forgotten")
    func crowd() throws {
        let store = try open()
        fill(store, "a", 1)
        let answers = Awaited<Bool>()
        let (isHeld, goesOn) = (Awaited<Void>(), Awaited<Void>())
        store.append([Batch(logs(1..<2))]) { _ in
            isHeld.put(())
            _ = goesOn.take(1)
        }
        _ = isHeld.take(1)
        for _ in 0..<20 { store.list(StreamWish()) { answers.put($0 != nil) } }
        goesOn.put(())
        #expect(answers.take(20).count { $0 } == StreamQuestion.waitingMax)
        store.close()
        #expect(list(store) == nil)
    }
}
