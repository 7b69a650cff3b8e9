import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct StreamListingTests {
    let directory = TemporaryDirectory()
    let clock = ManualClock()

    private func open(_ change: (inout QueueConfiguration) -> Void = { _ in }) throws
        -> DurableQueue
    {
        var configuration = QueueConfiguration.small(directory.path)
        change(&configuration)
        return try DurableQueue(configuration, journal: .silent, clock: clock.queueClock)
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
        let answer = Awaited<StreamListing?>()
        store.list(wish) { answer.put($0) }
        return answer.take(1)[0]
    }

    private func names(_ listing: StreamListing?, _ destination: String = "app") -> [String] {
        listing?.destinations[destination]?.entries.map(\.stream.trailer.topic) ?? []
    }

    @Test(
        "The streams that wait longest come first, or those with most, and the others are counted"
    )
    func orders() throws {
        let store = try open()
        defer { store.close() }
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
        defer { store.close() }
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
        defer { store.close() }
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
        defer { store.close() }
        let sizes = (0..<300).map { _ in Int.random(in: 1...60) }
        let batches = sizes.enumerated().map { index, size in
            Batch(stream: .named("\(index)"), logs: logs(0..<size))
        }
        let answer = Awaited<AppendOutcome>()
        store.append(batches) { answer.put($0) }
        #expect(answer.take(1) == [.stored])
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
        store.append([Batch(stream: .named("a"), logs: logs(1..<2))]) { _ in
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
