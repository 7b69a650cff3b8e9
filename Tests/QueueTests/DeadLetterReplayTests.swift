import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct DeadLetterReplayTests {
    let directory = TemporaryDirectory()
    private let now = UInt32(WallTime.now.seconds)
    private var database: String { directory.path + "/queue.db" }

    private func dead(_ numbers: Range<Int>) -> Batch { .dead(timed(numbers, at: now)) }

    /// Queues the letters with these numbers again.
    private func replay(_ numbers: Range<Int>, in store: DurableQueue) throws {
        let ids = try store.letters().filter { letter in
            numbers.contains(try number(#require(letter.content)))
        }.map(\.id)
        #expect(store.replaying(.ids(ids)).changed == numbers.count)
    }

    /// SLS refuses the logs below `bad`.
    private func deliver(_ store: DurableQueue, bad: Int = 100) throws {
        try FakeSLS(store) { (try? number($0) < bad) ?? true }.run()
    }

    /// The counts of the letters by the numbers of their logs.
    private func counts(_ store: DurableQueue) throws -> [Int: Int] {
        var counts: [Int: Int] = [:]
        for letter in try store.letters() {
            counts[try number(#require(letter.content))] = letter.replays
            #expect((letter.lastReplay == nil) == (letter.replays == 0))
        }
        return counts
    }

    @Test("Letters that die again count each replay, whatever waits beside them")
    func diesAgain() throws {
        let store = try directory.queue()
        _ = store.store(dead(0..<8))
        try replay(0..<4, in: store)
        _ = store.store(Batch(timed(100..<110, at: now)))
        try deliver(store)
        let all = try counts(store)
        #expect(all == [0: 1, 1: 1, 2: 1, 3: 1, 4: 0, 5: 0, 6: 0, 7: 0])
        // Letters with different counts wait together, and packets are halved across them.
        try replay(2..<6, in: store)
        try deliver(store)
        let more = try counts(store)
        #expect(more == [0: 1, 1: 1, 2: 2, 3: 2, 4: 1, 5: 1, 6: 0, 7: 0])
        let letter = try #require(try store.letters().first { $0.replays == 2 })
        #expect(letter.lastReplay == letter.received && letter.received <= letter.died)
        let edit = DeadLetterEdit(fields: [("number", "50")])
        let outcome = store.replacing(letter.id, with: edit)
        let edited = try #require(try store.deadLetter(letter.id))
        #expect(outcome == .replaced(edited) && edited.replays == 2)
        #expect(store.status.ledger.isClosed && store.status.ledger.accepted == 18)
    }

    @Test("Counts survive a restart, in letters and in rows that wait for delivery")
    func restart() throws {
        var store = try directory.queue()
        _ = store.store(dead(0..<6))
        try replay(0..<4, in: store)
        try deliver(store)
        try replay(0..<2, in: store)
        store.close()
        #expect(try Inspection.run(directory.path).isFine)
        store = try directory.queue()
        #expect(try counts(store) == [2: 1, 3: 1, 4: 0, 5: 0])
        try deliver(store)
        #expect(try counts(store) == [0: 2, 1: 2, 2: 1, 3: 1, 4: 0, 5: 0])
    }

    @Test(
        "A rebuilt queue keeps the counts of letters, of waiting rows and of packets",
        arguments: [false, true]
    )
    func salvage(isSealed: Bool) throws {
        var store = try directory.queue()
        _ = store.store(dead(0..<6))
        try replay(0..<4, in: store)
        try deliver(store)
        try replay(0..<2, in: store)
        if isSealed {
            _ = Consumer(store).sealed()
        }
        store.close()
        try execute(in: database, "UPDATE ledger SET accepted = -1")
        store = try directory.queue()
        #expect(store.status.salvages == 1 && store.status.lostLogs == 0)
        try deliver(store)
        #expect(try counts(store) == [0: 2, 1: 2, 2: 1, 3: 1, 4: 0, 5: 0])
    }

    @Test(
        "Logs that are taken out for their time keep the count, and so does the rest of their row"
    )
    func late() throws {
        let store = try directory.queue { $0.destinations["app"]?.lateLogs = .deadLetter }
        var logs = timed(0..<2, at: now - 8 * 86_400)
        let young = timed(2..<4, at: now)
        logs.bytes += young.bytes
        logs.count += young.count
        _ = store.store(.dead(logs))
        try replay(0..<4, in: store)
        try FakeSLS(store) { $0.time.seconds < now - 7 * 86_400 }.run()
        #expect(try counts(store) == [0: 1, 1: 1])
        _ = store.store(dead(4..<5))
        try replay(0..<2, in: store)
        try deliver(store)
        #expect(try counts(store) == [0: 2, 1: 2, 4: 0])
    }

    @Test("A count that changed on the disk is found")
    func changed() throws {
        let store = try directory.queue()
        _ = store.store(dead(0..<2), Batch(timed(5..<6, at: now)))
        store.close()
        for table in ["rows", "dead"] {
            try execute(in: database, "UPDATE \(table) SET replays = replays + 1")
        }
        let faults = try Inspection.run(directory.path).findings.map(\.fault)
        #expect(faults.contains(.rows) && faults.contains(.deadLetters))
    }
}

/// Few that are asked for among many others.
@Suite(.timeLimit(.minutes(10))) struct RareDeadLetterTests {
    let directory = TemporaryDirectory()

    private func dead(_ numbers: Range<Int>, logstore: String = "app-log", code: String) -> Batch {
        let reason = DeathReason(code: code, message: "too long")
        let stream = StreamKey.named("a", logstore: logstore)
        return .dead(timed(numbers, at: 1_800_000_000), stream, because: reason)
    }

    private func filled() throws -> DurableQueue {
        let store = try directory.queue { $0.durability = .normal }
        let many = 2 * DeadQueries.looksMax
        _ = store.store(dead(0..<many, code: "Many"))
        _ = store.store(dead(many..<many + 1, logstore: "rare", code: "Rare"))
        _ = store.store(dead(many + 1..<2 * many, code: "Many"))
        return store
    }

    private static let rare = [
        DeadLetterFilter(code: "Rare"), DeadLetterFilter(logstore: "rare"),
        DeadLetterFilter(destination: "app", logstore: "rare", code: "Rare"),
    ]

    @Test("Each walk looks at a bounded number of letters, however few are wanted")
    func bounded() throws {
        _ = try filled()
        let connection = try Connection(directory.path + "/queue.db", .readOnly)
        let queries = try DeadQueries(connection)
        for filter in Self.rare {
            var found: [Int64] = []
            var end = DeadQueries.End(position: 0, isLast: false)
            var walks = 0
            while !end.isLast {
                end = try queries.letters(matching: filter, after: end.position) {
                    found.append($0.record.id)
                    return true
                }
                walks += 1
            }
            #expect(found.count == 1 && walks == 5)
        }
    }

    @Test("Lists, replays and purges find rare dead letters among many others")
    func found() throws {
        let store = try filled()
        for filter in Self.rare { #expect(try store.letters(filter).count == 1) }
        #expect(store.replaying(.matching(Self.rare[0])).changed == 1)
        #expect(store.status.ledger.queued == 1)
        #expect(store.purging(.matching(Self.rare[1])).changed == 0)
        #expect(store.purging(.matching(DeadLetterFilter(code: "None"))).changed == 0)
        let left = 4 * DeadQueries.looksMax - 1
        #expect(store.purging(.matching(DeadLetterFilter(code: "Many"))).changed == left)
        #expect(store.status.ledger.dead == 0 && store.status.ledger.isClosed)
    }

    @Test("A walk goes by id, and that of a destination reads an index alone")
    func plans() throws {
        _ = try directory.queue()
        let connection = try Connection(directory.path + "/queue.db", .readOnly)
        let queries = try DeadQueries(connection)
        func plan(_ statement: Statement) throws -> String {
            let explained = try connection.prepare("EXPLAIN QUERY PLAN \(statement.sql)")
            var steps: [String] = []
            while try explained.step() { steps.append(explained.text(3)) }
            return steps.joined(separator: "; ")
        }
        #expect(try plan(queries.all).contains("USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"))
        let byDestination = "COVERING INDEX dead_by_destination (destination=? AND id>? AND id<?)"
        #expect(try plan(queries.ofDestination).contains(byDestination))
        for statement in [queries.all, queries.ofDestination] {
            #expect(try !plan(statement).contains("TEMP B-TREE"))
        }
    }
}
