import Logs
import System
import TestSupport
import Testing

@testable import Queue
@testable import SQLiteQueue

/// Logs that leave without delivery are told to a watcher, with the numbers that `BatchTrack`
/// knows.
@Suite(.timeLimit(.minutes(10))) struct EndedLogsTests {
    let directory = TemporaryDirectory()
    private let now = UInt32(WallTime.now.seconds)

    private final class Watcher: QueueWatcher {
        let ended = Locked<[EndedLogs]>([])
        let failures = Locked(0)
        var wantsEnds: Bool { true }
        func note(_ ended: [EndedLogs]) { self.ended.withLock { $0 += ended } }
        func loseTrack() { failures.withLock { $0 += 1 } }
    }

    private let watcher = Watcher()

    private func open(_ change: (inout QueueConfiguration) -> Void = { _ in }) throws
        -> DurableQueue
    {
        let store = try directory.queue(change)
        store.tellEnds(to: watcher)
        return store
    }

    /// What the watcher learnt, when it knows of so many logs. The queue tells it last, after it
    /// shows its status.
    private func ended(logs: Int) -> [EndedLogs] {
        #expect(
            eventually {
                watcher.ended.withLock { $0.reduce(0) { $0 + $1.numbers.count } } == logs
            }
        )
        return watcher.ended.withLock { $0 }
    }

    /// Stores the logs and returns their place.
    private func place(_ logs: EncodedLogs, in store: DurableQueue) throws -> BatchTrack.Place {
        var batch = Batch(logs)
        let track = BatchTrack()
        batch.track = track
        #expect(store.store(batch) == .stored)
        return try #require(track.takeNews().places.first)
    }

    @Test("A refused log ends as the dead letter that it became")
    func refused() throws {
        let store = try open()
        let place = try place(timed(0..<10, at: now), in: store)
        let sls = FakeSLS(store) { (try? number($0)).map { $0 == 3 || $0 == 7 } ?? true }
        try sls.run()
        let ended = ended(logs: 2)
        #expect(Set(ended.map(\.numbers.lowerBound)) == [place.row + 3, place.row + 7])
        for each in ended {
            #expect(each.stream == place.stream && each.numbers.count == 1)
            guard case .dead(let ids) = each.end, ids.count == 1 else {
                Issue.record("\(each)")
                continue
            }
            let letter = try #require(try store.deadLetter(ids[0]))
            let index = try number(#require(letter.content))
            #expect(each.numbers.lowerBound == place.row + Int64(index))
        }
    }

    @Test("Late logs end from the last to the first, and those after them move up")
    func late() throws {
        let store = try open { $0.destinations["app"]?.lateLogs = .deadLetter }
        var logs = EncodedLogs()
        for index in 0..<8 {
            let isLate = [1, 2, 5].contains(index)
            let one = timed([index], at: isLate ? now - 8 * 86_400 : now)
            logs.bytes += one.bytes
            logs.count += 1
        }
        let place = try place(logs, in: store)
        try FakeSLS(store) { $0.time.seconds < now - 7 * 86_400 }.run()
        let ended = ended(logs: 3)
        #expect(
            ended.map(\.numbers) == [place.row + 5...place.row + 5, place.row + 1...place.row + 2]
        )
        #expect(ended.allSatisfy { $0.renumberedThrough == place.row + 7 })
        let ids = ended.flatMap { each in
            if case .dead(let ids) = each.end { ids } else { [Int64]() }
        }
        let numbers = try ids.map { try number(#require(store.deadLetter($0)?.content)) }
        #expect(numbers == [5, 1, 2])
    }

    @Test("Dropped and discarded logs end as such")
    func dropped() throws {
        let store = try open {
            $0.destinations["app"]?.overflow = .dropOldest
            $0.destinations["app"]?.bytesMax = 20_000
        }
        let first = try place(logs(0..<10, noise: 1000), in: store)
        _ = try place(logs(10..<25, noise: 1000), in: store)
        store.wait { $0.ledger.expired == 10 }
        #expect(
            ended(logs: 10) == [
                EndedLogs(stream: first.stream, numbers: first.numbers, end: .expired)
            ]
        )
        watcher.ended.withLock { $0 = [] }
        let packet = Consumer(store).sealed()
        store.end(packet, .discard(FakeSLS.reason))
        store.wait { $0.ledger.discarded == 15 }
        let ended = ended(logs: 15)
        #expect(ended.map(\.end) == [.discarded] && ended.map(\.numbers.count) == [15])
    }

    /// Notes what comes first.
    private final class Orderer: QueueWatcher {
        let seen = Awaited<String>()
        var wantsEnds: Bool { true }
        func note(_ ended: [EndedLogs]) { seen.put("ended") }
        func loseTrack() {}
    }

    @Test("A request has its answer before the watcher learns which logs made room for it")
    func answersFirst() throws {
        let store = try open {
            $0.destinations["app"]?.overflow = .dropOldest
            $0.destinations["app"]?.bytesMax = 20_000
        }
        let order = Orderer()
        store.tellEnds(to: order)
        func append(_ numbers: Range<Int>) {
            let batch = Batch(logs(numbers, noise: 1000))
            store.append([batch]) { _ in order.seen.put("answer") }
        }
        // In one commit both would share a row, and nothing would make room for it.
        append(0..<15)
        #expect(order.seen.take(1) == ["answer"])
        append(15..<30)
        #expect(order.seen.take(2) == ["answer", "ended"])
    }

    @Test("Logs that expire in a packet or while they wait end as expired")
    func expired() throws {
        let clock = ManualClock(at: .now)
        let store = try directory.queue(clock: clock.queueClock) { $0.ageMax = .seconds(60) }
        store.tellEnds(to: watcher)
        let sealed = try place(logs(0..<10), in: store)
        store.flush("app")
        let consumer = Consumer(store)
        let packet = consumer.packets(1)[0]
        store.end(packet, .postpone)
        let waiting = try place(logs(10..<14), in: store)
        clock.advance(.seconds(61))
        store.wait { $0.ledger.expired == 14 }
        let ended = ended(logs: 14)
        #expect(ended.allSatisfy { $0.end == .expired })
        #expect(Set(ended.map(\.numbers)) == [sealed.numbers, waiting.numbers])
    }

    @Test("Logs that are dead on arrival are told to their track")
    func onArrival() throws {
        let store = try open()
        var batch = Batch.dead(timed(0..<3, at: now))
        batch.dropped = 2
        let track = BatchTrack()
        batch.track = track
        #expect(store.store(batch) == .stored)
        let news = track.takeNews()
        #expect(news.letters == (try store.letters().map(\.id)))
        #expect(news.dropped == 2 && news.places.isEmpty)
        #expect(track.takeNews().letters.isEmpty)
    }
}
