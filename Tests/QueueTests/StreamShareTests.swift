import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Streams whose tags devices invent.
@Suite(.timeLimit(.minutes(1))) struct StreamShareTests {
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
        return try DurableQueue(configuration, journal: journal)
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
        let answer = Awaited<AppendOutcome>()
        let batches = streams.map { Batch(stream: $0, logs: logs([1])) }
        store.append(batches, identity: nil, sender: sender) { answer.put($0) }
        return answer.take(1)[0]
    }

    @Test("A key with invented tags leaves room to the others, who find their reserve")
    func keys() throws {
        let store = try open(senders: 2)
        defer { store.close() }
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
        defer { store.close() }
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
        defer { store.close() }
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
        defer { store.close() }
        let filled = fill(store, nil)
        #expect(filled.stored == 10 && filled.refusal == .refused(.tooManyStreams))
        #expect(store.status.streamRefusals.queue == 1)
    }

    @Test("One request with many label sets is refused as a whole, and takes nothing")
    func together() throws {
        let store = try open(senders: 2)
        defer { store.close() }
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
        defer { store.close() }
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
        let lines = Awaited<[UInt8]>()
        let journal = Journal(level: .info, format: .json) { lines.put($0) }
        let store = try open(streamsMax: 8, senders: 2, journal: journal)
        for _ in 0..<3 { _ = fill(store, "web") }
        store.close()
        let said = lines.take(lines.count).map { String(decoding: $0, as: UTF8.self) }
        #expect(said.count == 1)
        #expect(said[0].contains(#""key":"web""#) && said[0].contains("queue.max_streams"))
        #expect(said[0].contains(#""share_of":"key""#))
    }
}
