import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct OverflowTests {
    let directory = TemporaryDirectory()

    private func open(
        bytesMax: Int = 4 << 30,
        journal: Journal = .silent,
        _ rules: (inout [String: DestinationRules]) -> Void
    ) throws -> DurableQueue {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.bytesMax = bytesMax
        for name in ["app", "other"] { configuration.destinations[name]?.overflow = .dropOldest }
        rules(&configuration.destinations)
        return try directory.open(configuration, journal: journal)
    }

    /// One log that takes some 600 bytes of the queue.
    private func batch(_ number: Int, destination: String = "app") -> Batch {
        let text = hex(randomBytes(220), upper: false)
        var logs = EncodedLogs()
        let fields = [("number", "\(number)"), ("text", text)]
        logs.append(time: LogTime(seconds: 1_800_000_000), fields: fields)
        return Batch(stream: .named("a", destination: destination), logs: logs)
    }

    private func dead(_ number: Int) -> Batch {
        .dead(batch(number).logs)
    }

    private func expired(_ store: DurableQueue, _ name: String) -> Int64 {
        store.status.destinations[name]?.ledger.expired ?? 0
    }

    @Test("Dead letters make the oldest logs go as others do")
    func deadLetters() throws {
        let store = try open { $0["app"]?.bytesMax = 20_000 }
        for number in 0..<40 { #expect(store.store(batch(number)) == .stored) }
        for number in 40..<60 {
            #expect(store.store(dead(number)) == .stored)
            #expect(store.status.destinations["app"]?.bytes ?? .max <= 20_000)
        }
        #expect(store.status.ledger.dead == 20 && store.status.ledger.isClosed)
        #expect(expired(store, "app") > 20)
    }

    @Test("Where dead letters alone exceed the bound no log is dropped for it")
    func nothingHelps() throws {
        let store = try open { $0["app"]?.bytesMax = 40_000 }
        for number in 0..<20 { #expect(store.store(batch(number)) == .stored) }
        for number in 20..<40 { #expect(store.store(dead(number)) == .stored) }
        var lower = DestinationRules()
        lower.overflow = .dropOldest
        lower.bytesMax = 8000
        store.apply(["app": lower])
        #expect(store.store(batch(40)) == .refused(.destinationFull))
        let ledger = store.status.ledger
        #expect(ledger.expired == 0 && ledger.queued == 20 && ledger.dead == 20)
    }

    @Test("No log is dropped if dead letters alone exceed the queue's bound")
    func nothingHelpsTheQueue() throws {
        let store = try open { _ in }
        for number in 0..<20 { #expect(store.store(batch(number)) == .stored) }
        for number in 20..<40 { #expect(store.store(dead(number)) == .stored) }
        var lower = DestinationRules()
        lower.overflow = .dropOldest
        let bounds = QueueBounds(
            bytesMax: 8000,
            ageMax: .seconds(3600),
            freeBytesMin: 0,
            deadLetterAgeMax: .seconds(3600)
        )
        store.apply(["app": lower], bounds)
        #expect(store.store(batch(40)) == .refused(.full))
        #expect(store.status.ledger.expired == 0 && store.status.ledger.queued == 20)
    }

    @Test("Logs that die make room as well, and never exceed the bound", arguments: [true, false])
    func dying(isOwnBound: Bool) throws {
        let store = try open(bytesMax: isOwnBound ? 4 << 30 : 20_000) {
            if isOwnBound { $0["app"]?.bytesMax = 20_000 }
            $0["app"]?.packet.logs = 1
        }
        for number in 0..<40 { #expect(store.store(batch(number)) == .stored) }
        let reason = DeathReason(code: "InvalidKey", message: "bad")
        let consumer = Consumer(store)
        for _ in 0..<40 {
            store.request(1, for: "app")
            store.settle()
            while consumer.waiting > 0 { store.end(consumer.next()[0], .isolate(reason)) }
            store.settle()
            #expect(store.status.bytes <= 20_000)
        }
        #expect(store.status.ledger.dead > 10 && store.status.ledger.isClosed)
    }

    @Test("The journal names the bound to raise", arguments: [true, false])
    func remedy(isOwnBound: Bool) throws {
        let lines = Awaited<String>()
        let journal = lines.journal(.warning)
        let store = try open(bytesMax: isOwnBound ? 4 << 30 : 20_000, journal: journal) {
            if isOwnBound { $0["app"]?.bytesMax = 20_000 }
        }
        for number in 0..<60 { #expect(store.store(batch(number)) == .stored) }
        // A queue that is full says so itself, at once.
        var said = ""
        while !said.contains("oldest made room") { said = lines.take(1)[0] }
        #expect(said.contains("raise queue.max_bytes") == !isOwnBound)
        #expect(said.contains("raise the destination's max_bytes") == isOwnBound)
    }

    @Test("After a bound was lowered rows go in steps of a bounded time, until it holds")
    func steps() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.durability = .normal
        configuration.destinations["app"]?.overflow = .dropOldest
        let owner = try QueueOwner(configuration, QueueHandle(configuration), .silent)
        let store = try #require(owner.store)
        let keys = (0..<500).map { StreamKey.named("\($0)") }
        for round in 0..<30 {
            try store.take(keys.map { Batch(stream: $0, logs: logs([round])) })
        }
        configuration.bytesMax = 400_000
        store.apply(configuration)
        var longest = Duration.zero
        var steps = 0
        repeat {
            let start = ProcessorTime.ofThread
            owner.turn()
            steps += 1
            longest = max(longest, ProcessorTime.ofThread - start)
        } while store.overflow.needsRoom
        #expect(
            store.weight.bytes <= 400_000 && store.weight.rows > 500 && store.imbalances().isEmpty
        )
        #expect(steps > 3)
        // Much more than a step may take, since processors differ, and a sanitizer is slow.
        #expect(longest < .milliseconds(500).calibrated())
    }

    @Test("A destination pays for its own bound alone")
    func ownBound() throws {
        let store = try open { $0["app"]?.bytesMax = 20_000 }
        for number in 0..<10 { _ = store.store(batch(number, destination: "other")) }
        for number in 0..<100 {
            _ = store.store(batch(number), batch(number, destination: "other"))
        }
        #expect(expired(store, "app") > 60 && expired(store, "other") == 0)
    }

    @Test("For the queue's bound the one that has most waiting pays, whoever came")
    func queueBound() throws {
        let store = try open(bytesMax: 40_000) { _ in }
        for number in 0..<10 {
            #expect(store.store(batch(number, destination: "other")) == .stored)
        }
        for number in 0..<100 {
            #expect(store.store(batch(number)) == .stored)
            #expect(store.status.bytes <= 40_000)
        }
        #expect(expired(store, "other") == 0)
        let paid = expired(store, "app")
        #expect(paid > 30)
        // Together in one transaction, and alone in a queue that another one fills.
        for number in 10..<15 {
            let both = [batch(number, destination: "other"), batch(number)]
            #expect(store.store(both[0], both[1]) == .stored)
            #expect(store.store(batch(number, destination: "other")) == .stored)
        }
        #expect(expired(store, "other") == 0 && expired(store, "app") > paid)
        #expect(store.status.bytes <= 40_000)
    }

    @Test("Rows that are gone from the disk are damage, and not looked for for ever")
    func goneRows() throws {
        let store = try open { $0["app"]?.bytesMax = 20_000 }
        for number in 0..<30 { #expect(store.store(batch(number)) == .stored) }
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        try connection.execute("DELETE FROM rows")
        while store.store(batch(30)) == .stored {}
        while store.store(batch(31)) != .stored {}
        // Read again the store is whole, and its ledger says what is gone.
        #expect(store.status.salvages == 0 && store.status.repairedLogs > 0)
        #expect(store.status.ledger.isClosed && store.status.ledger.discarded > 0)
    }

    @Test("The first sum is reported at once, later ones once a minute")
    func onceAMinute() {
        var sums = PendingSums<String>()
        let start = Moment(nanoseconds: 1_000_000_000)
        #expect(sums.takeDue(start).isEmpty)
        sums.add(["a": 1])
        sums.add(["a": 2])
        #expect(sums.takeDue(start) == ["a": 3])
        sums.add(["a": 4, "b": 1])
        #expect(sums.takeDue(start + .seconds(1)) == ["b": 1])
        sums.add(["a": 5])
        #expect(sums.takeDue(start + .seconds(59)).isEmpty)
        #expect(sums.takeDue(start + .seconds(60)) == ["a": 9])
        #expect(sums.takeDue(start + .seconds(200)).isEmpty)
    }
}
