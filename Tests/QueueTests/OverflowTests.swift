import Logs
import System
import Testing

@testable import Queue

@Suite(.timeLimit(.minutes(1))) struct OverflowTests {
    let directory = TemporaryDirectory()

    private func open(
        bytesMax: Int = 4 << 30,
        _ rules: (inout [String: DestinationRules]) -> Void
    ) throws -> LogStore {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.bytesMax = bytesMax
        for name in ["app", "other"] { configuration.destinations[name]?.overflow = .dropOldest }
        rules(&configuration.destinations)
        return try LogStore(configuration, journal: .silent)
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
        let batch = batch(number)
        let reason = DeathReason(code: "ValueTooLarge", message: "too long")
        let letter = Batch.Dead(logs: batch.logs, reason: reason)
        return Batch(stream: batch.stream, logs: EncodedLogs(), dead: [letter])
    }

    private func expired(_ store: LogStore, _ name: String) -> Int64 {
        store.status.destinations[name]?.ledger.expired ?? 0
    }

    @Test("Dead letters make the oldest logs go as others do")
    func deadLetters() throws {
        let store = try open { $0["app"]?.bytesMax = 20_000 }
        defer { store.close() }
        for number in 0..<40 { #expect(store.store(batch(number)) == .stored) }
        for number in 40..<60 {
            #expect(store.store(dead(number)) == .stored)
            #expect(store.status.destinations["app"]?.bytes ?? .max <= 20_000)
        }
        #expect(store.status.ledger.dead == 20 && store.status.ledger.isClosed)
        #expect(expired(store, "app") > 20)
    }

    @Test("A destination pays for its own bound alone")
    func ownBound() throws {
        let store = try open { $0["app"]?.bytesMax = 20_000 }
        defer { store.close() }
        for number in 0..<10 { _ = store.store(batch(number, destination: "other")) }
        for number in 0..<100 {
            _ = store.store(batch(number), batch(number, destination: "other"))
        }
        #expect(expired(store, "app") > 60 && expired(store, "other") == 0)
    }

    @Test("For the queue's bound the one that has most waiting pays, whoever came")
    func queueBound() throws {
        let store = try open(bytesMax: 40_000) { _ in }
        defer { store.close() }
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
        defer { store.close() }
        for number in 0..<30 { #expect(store.store(batch(number)) == .stored) }
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        try connection.execute("DELETE FROM rows")
        while store.store(batch(30)) == .stored {}
        while store.store(batch(31)) != .stored {}
        #expect(store.status.salvages == 1 && store.status.ledger.isClosed)
    }
}
