import Crypto
import System
import TestPostgreSQL
import TestSupport
import Testing

@testable import CommitLog

/// What of a cluster only PostgreSQL has; ClusterContractTests has the rest.
@Suite(.timeLimit(.minutes(3)), .enabled(if: Database.isInstalled, "it is not installed"))
final class PostgreSQLClusterTests {
    let recorder = JournalRecorder()
    let name = "t\(UInt32.random(in: 1...UInt32.max))"

    func cluster(on database: Database? = nil) throws -> PostgreSQLCluster {
        let url = try database?.url ?? sharedDatabase.get().url
        let settings = PostgreSQLSettings(url: Secret(url), cluster: name, node: "a")
        let cluster = PostgreSQLCluster(
            settings,
            queueBytes: 1 << 30,
            isSynced: true,
            journal: recorder.journal
        )
        try cluster.open()
        return cluster
    }

    func rows(of shard: String) throws -> String {
        try sharedDatabase.get().primary.query(
            "SELECT count(*) FROM \"sluice_\(name)_log\" WHERE shard = '\(shard)'"
        )
    }

    /// A shard with so many entries.
    func shard(_ shard: String, entries: Int, in cluster: PostgreSQLCluster) throws {
        let parts = Array(repeating: [1] as [UInt8], count: entries)
        #expect(
            try cluster.made(shard).append(parts, after: 0, id: id(1)) == .appended(UInt64(entries))
        )
    }

    @Test("A notification that came with the result of a statement is there at once")
    func notifications() throws {
        let settings = PostgreSQLSettings(
            url: Secret(try sharedDatabase.get().url),
            cluster: name,
            node: "a"
        )
        var link = PostgreSQLLink(settings, isSynced: false, recorder.journal)
        let began = Moment.now
        let deadline = began + .seconds(20)
        for statement in ["LISTEN \(name)", "NOTIFY \(name), 'here'"] {
            _ = try link.run(statement, until: deadline)
        }
        let found = try link.notifications(or: try WakeUp(), atMost: .seconds(20))
        #expect(found == ["here"] && Moment.now - began < .seconds(10).calibrated())
    }

    @Test("A removal takes several steps, and leaves no row")
    func manyRows() throws {
        let cluster = try cluster()
        try shard("a", entries: 300, in: cluster)
        try shard("b", entries: 1, in: cluster)
        try cluster.remove("a")
        #expect(try rows(of: "a") == "0\n")
        #expect(try rows(of: "b") == "2\n")
    }

    @Test(
        "What an interrupted removal left is no shard, and goes with the next start or removal",
        arguments: [true, false]
    )
    func interruption(_ byStart: Bool) throws {
        let cluster = try cluster()
        try shard("a", entries: 3, in: cluster)
        try sharedDatabase.get().primary.query(
            """
            UPDATE "sluice_\(name)_log" SET body = '' WHERE shard = 'a' AND number = 0;
            DELETE FROM "sluice_\(name)_log" WHERE shard = 'a' AND number = 1
            """
        )
        #expect(try cluster.shards() == [])
        let log = cluster.log(of: "a")
        #expect(log.append([[1]], after: 3, id: id(2)) == .fenced)
        for (makes, kind) in [(false, CommitLogError.Kind.missing), (true, .refused)] {
            #expect { try log.open(makes: makes) } throws: {
                ($0 as? CommitLogError)?.kind == kind
            }
        }
        if byStart { try cluster.open() } else { try cluster.remove("b") }
        #expect(try rows(of: "a") == "0\n")
    }

    @Test("The rows of a log that lost its row 0 are kept")
    func damage() throws {
        let cluster = try cluster()
        try shard("a", entries: 3, in: cluster)
        try sharedDatabase.get().primary.query(
            "DELETE FROM \"sluice_\(name)_log\" WHERE shard = 'a' AND number = 0"
        )
        try cluster.open()
        try cluster.remove("a")
        #expect(try cluster.shards() == [])
        #expect(try rows(of: "a") == "3\n")
    }

    @Test("Registers do not wait for the standby, also while a removal does")
    func standby() throws {
        let database = try Database()
        let cluster = try cluster(on: database)
        try shard("a", entries: 1, in: cluster)
        try cluster.set("a", to: [1])
        let standby = try #require(database.standby)
        standby.kill()
        #expect { try cluster.remove("a") } throws: {
            ($0 as? CommitLogError)?.kind == .unreachable
        }
        try cluster.set("a", to: [2])
        #expect(try cluster.registers().mapValues(\.value) == ["a": [2]])
        try standby.start()
        #expect(eventually { (try? cluster.remove("a")) != nil })
        #expect(try cluster.shards() == [])
    }

    @Test("A cluster is checked before its first start and after it")
    func check() throws {
        let url = try sharedDatabase.get().url
        let settings = PostgreSQLSettings(url: Secret(url), cluster: name, node: "a")
        let cluster = PostgreSQLCluster(
            settings,
            queueBytes: 1 << 30,
            isSynced: true,
            journal: recorder.journal
        )
        let before = try cluster.check()
        #expect(before.contains("the table sluice_\(name)_log is made at the first start"))
        #expect(before.contains("the table sluice_\(name)_register is made at the first start"))
        try cluster.open()
        #expect(try cluster.check().hasSuffix("the cluster \(name) has 0 shards"))
    }
}
