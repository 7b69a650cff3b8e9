import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct OptionalBatchTests {
    let directory = TemporaryDirectory()

    private func open(
        _ lines: Awaited<String> = Awaited(),
        _ change: (inout QueueConfiguration) -> Void = { _ in }
    ) throws -> DurableQueue {
        try directory.queue(journal: lines.journal()) {
            $0.destinations["app"]?.bytesMax = 20_000
            change(&$0)
        }
    }

    /// Ten logs for each of two destinations. Those for `app` need more than its bound.
    private func copies(isRequired: Bool, filling: Int = 3000) -> [Batch] {
        [
            Batch(stream: .named("a"), logs: logs(0..<10, noise: filling), isRequired: isRequired),
            Batch(stream: .named("a", destination: "other"), logs: logs(0..<10)),
        ]
    }

    @Test("A request is refused whole if a required destination is full")
    func required() throws {
        let store = try open()
        for batches in [copies(isRequired: true), copies(isRequired: true).reversed()] {
            #expect(store.store(batches) == .refused(.destinationFull))
        }
        #expect(store.status.ledger == Ledger() && store.status.rows == 0)
        #expect(store.status.intake == IntakeTally())
    }

    @Test("A full optional destination is skipped and counted, and the others get their logs")
    func optional() throws {
        let lines = Awaited<String>()
        let store = try open(lines)
        let tally = IntakeTally(received: 12, filtered: 1, dropped: 1, routed: 10, copies: 20)
        for batches in [copies(isRequired: false), copies(isRequired: false).reversed()] {
            #expect(store.store(batches, tally: tally) == .stored)
        }
        let status = store.status
        #expect(status.destinations["other"]?.ledger.accepted == 20)
        #expect(status.destinations["app"]?.ledger.accepted == 0)
        #expect(status.destinations["app"]?.ledger.skipped == 20)
        #expect(status.destinations["app"]?.bytes == 0)
        #expect(status.intake.received == 24 && status.intake.copies == 40)
        let said = lines.take(1)[0]
        #expect(said.contains("skipped") && said.contains("\"app\"") && said.contains("20"))
        store.close()

        let again = try open()
        #expect(again.status.ledger == status.ledger && again.status.intake == status.intake)
        again.close()
        #expect(try Inspection.run(directory.path).findings.isEmpty)
    }

    @Test("A skipped batch tells its track, so that a capture does not take it for delivered")
    func tracked() throws {
        let store = try open()
        let tracks = [BatchTrack(), BatchTrack()]
        var batches = copies(isRequired: false)
        for index in batches.indices { batches[index].track = tracks[index] }
        #expect(store.store(batches) == .stored)
        let news = tracks.map { $0.takeNews() }
        #expect(news.map(\.skipped) == [10, 0])
        #expect(news[0].places.isEmpty && news[1].places.count == 1)
    }

    @Test("A skipped batch leaves its room, its streams and its places for logstores to others")
    func everythingIsGivenBack() throws {
        let store = try open {
            $0.destinations["app"]?.logstoresMax = 1
            $0.streamsMax = 4
        }
        func batch(_ logstore: String, filling: Int = 10, isRequired: Bool = true) -> Batch {
            Batch(
                stream: .named("a", logstore: logstore),
                logs: logs([Int.random(in: 0..<1 << 20)], noise: filling + 128),
                isRequired: isRequired
            )
        }
        for _ in 0..<10 {
            #expect(
                store.store(
                    batch("x", filling: 15_000, isRequired: false),
                    batch("x", filling: 15_000, isRequired: false),
                    batch("y", isRequired: false)
                ) == .stored
            )
            store.flush("app")
            let consumer = Consumer(store)
            store.end(consumer.packets(1)[0], .stored)
            store.wait { $0.bytes == 0 }
        }
        let ledger = try #require(store.status.destinations["app"]?.ledger)
        #expect(ledger.accepted == 10 && ledger.skipped == 20)
        #expect(store.store(batch("y")) == .stored)
        #expect(store.store(batch("x")) == .refused(.tooManyLogstores))
        #expect(store.store(batch("x", isRequired: false)) == .stored)
    }

    @Test("A full queue refuses the whole request, whatever is optional")
    func fullQueue() throws {
        let store = try open { $0.bytesMax = 30_000 }
        let large = Batch(
            stream: .named("a", destination: "other"),
            logs: logs(0..<10, noise: 3000),
            isRequired: false
        )
        #expect(store.store(large) == .refused(.full))
        #expect(store.status.ledger == Ledger())
    }
}
