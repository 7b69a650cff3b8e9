import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Few that are asked for among many others.
@Suite(.timeLimit(.minutes(1))) struct RareDeadLetterTests {
    let directory = TemporaryDirectory()

    private func dead(_ numbers: Range<Int>, logstore: String = "app-log", code: String) -> Batch {
        let logs = timed(numbers, at: 1_800_000_000)
        let letters = Batch.Dead(logs: logs, reason: DeathReason(code: code, message: "too long"))
        return Batch(stream: .named("a", logstore: logstore), logs: EncodedLogs(), dead: [letters])
    }

    private func filled() throws -> DurableQueue {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.durability = .normal
        let store = try DurableQueue(configuration, journal: .silent)
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
        let store = try filled()
        defer { store.close() }
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
        defer { store.close() }
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
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
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
