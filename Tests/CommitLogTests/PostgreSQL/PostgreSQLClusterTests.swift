import Crypto
import System
import TestPostgreSQL
import TestSupport
import Testing

@testable import CommitLog

/// What of a cluster only PostgreSQL has; ClusterContractTests has the rest.
@Suite(.timeLimit(.minutes(10)), .enabled(if: Database.isInstalled, "it is not installed"))
final class PostgreSQLClusterTests {
    let recorder = JournalRecorder()
    let name = "t\(UInt32.random(in: 1...UInt32.max))"

    func cluster(on database: Database? = nil) throws -> PostgreSQLCluster {
        let url = try database?.url ?? sharedDatabase.get().url
        let settings = PostgreSQLSettings(url: Secret(url), cluster: name, node: "a")
        let cluster = PostgreSQLCluster(settings, recorder.journal)
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
        var link = PostgreSQLLink(
            settings,
            isSynced: false,
            ServerChoice(settings, recorder.journal),
            recorder.journal
        )
        let began = Moment.now
        let deadline = began + .seconds(20)
        for statement in ["LISTEN \(name)", "NOTIFY \(name), 'here'"] {
            _ = try link.run(statement, until: deadline)
        }
        let found = try link.notifications(or: try WakeUp(), atMost: .seconds(20))
        #expect(found == ["here"] && Moment.now - began < .seconds(10).calibrated())
    }

    @Test("Beyond the most registers, those that tell least are left out")
    func manyRegisters() throws {
        let cluster = try cluster()
        for prefix in ["gone.", "node."] {
            try cluster.set("message-key", to: [1])
            try sharedDatabase.get().primary.query(
                """
                INSERT INTO "sluice_\(name)_register" (name, value, revision)
                SELECT '\(prefix)' || number, '', 1 FROM generate_series(1, 10000) AS number
                """
            )
            try cluster.set("node.z", to: [1])
            let registers = try cluster.registers()
            #expect(registers.count == RegisterTable.rowsMax)
            #expect(registers["node.z"] != nil && registers["message-key"] != nil, "\(prefix)")
        }
        #expect(try cluster.registers().keys.allSatisfy { !$0.hasPrefix("gone.") })
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

    @Test("A former primary that lives on is left for the promoted one, by all connections")
    func livingFormerPrimary() throws {
        let database = try Database()
        var settings = PostgreSQLSettings(url: Secret(database.urlOfBoth), cluster: name, node: "a")
        // The promoted one has no standby of its own.
        settings.copies = .storage
        let one = PostgreSQLCluster(settings, recorder.journal)
        let two = PostgreSQLCluster(settings, recorder.journal)
        try one.open()
        try two.open()
        let log = one.log(of: "a")
        try log.open(makes: true)
        func append(after last: UInt64) -> AppendAnswer {
            log.append(
                [[UInt8(last)]],
                after: last,
                id: id(last + 1),
                until: .now + .seconds(3)
            )
        }
        #expect(append(after: 0) == .appended(1))
        // Without a promotion there is nowhere to go.
        one.changeServer()
        #expect(append(after: 1) == .appended(2))

        let standby = try #require(database.standby)
        try standby.query("SELECT pg_promote()")
        #expect(eventually { (try? standby.query("SELECT pg_is_in_recovery()")) == "f\n" })
        // The former primary has no standby any more, and waits for one.
        #expect { try one.confirm() } throws: { ($0 as? CommitLogError)?.kind == .unreachable }
        try one.set("node.a", to: [1])
        for cluster in [one, two] { cluster.changeServer() }
        #expect(append(after: 2) == .appended(3))
        try one.confirm()
        try one.set("node.a", to: [2])
        #expect(try two.registers()["node.a"]?.value == [2])
        #expect(try standby.query("SELECT count(*) FROM sluice_\(name)_register") == "1\n")
        // New connections do not go back to it, also while the promoted one is away.
        standby.kill()
        #expect { try two.log(of: "b").open(makes: true) } throws: {
            "\($0)".contains("the server is a former primary")
        }
        #expect(recorder.count(of: "another server takes commits; all connections change") == 2)
    }

    @Test("A cluster is checked before its first start and after it")
    func check() throws {
        let url = try sharedDatabase.get().url
        let settings = PostgreSQLSettings(url: Secret(url), cluster: name, node: "a")
        let cluster = PostgreSQLCluster(settings, recorder.journal)
        let before = try cluster.check()
        #expect(before.contains("the table sluice_\(name)_log is made at the first start"))
        #expect(before.contains("the table sluice_\(name)_register is made at the first start"))
        try cluster.open()
        #expect(try cluster.check().hasSuffix("the cluster \(name) has 0 shards"))
    }
}

/// What libpq makes of a connection URL.
@Suite struct PostgreSQLTargetTests {
    private func target(_ url: String) throws -> PostgreSQLTarget {
        try #require(PostgreSQLSettings(url: Secret(url), node: "a").target)
    }

    @Test(
        "Hosts and database are told without user and password",
        arguments: [
            ("postgresql://joe:canary@db1:5433/logs", "database logs at db1:5433"),
            ("postgres://canary@db1", "the user's database at db1:5432"),
            ("postgresql://db1,db2:5433/logs", "database logs at db1:5432, db2:5433"),
            ("postgresql://db1,db2/logs?port=5434", "database logs at db1:5434, db2:5434"),
            ("postgresql://[2001:db8::1]/logs", "database logs at [2001:db8::1]:5432"),
            ("postgresql://db1/logs?hostaddr=192.0.2.1", "database logs at db1:5432"),
            ("postgresql:///logs?hostaddr=192.0.2.1", "database logs at 192.0.2.1:5432"),
            ("postgresql://%2Frun%2Fpg/logs", "database logs at /run/pg"),
            ("postgresql://joe:canary@/logs", "database logs at the usual socket"),
            ("postgresql:///logs?host=db1&password=canary", "database logs at db1:5432"),
            ("postgresql://joe:c%2F%40nary@db1/logs", "database logs at db1:5432"),
        ]
    )
    func place(url: String, place: String) throws {
        #expect(try target(url).description == place)
    }

    @Test(
        "Only verify-full demands the right server",
        arguments: [
            ("", false), ("?sslmode=disable", false), ("?sslmode=require", false),
            ("?ssl=true", false), ("?sslmode=verify-ca", false), ("?sslmode=verify-full", true),
            ("?sslmode=verify-full&sslmode=disable", false),
            ("?application_name=sslmode%3Dverify-full", false),
        ]
    )
    func mode(words: String, isVerified: Bool) throws {
        #expect(try target("postgresql://db1/logs\(words)").isVerified == isVerified)
    }

    @Test(
        "Loopback addresses and sockets are local",
        arguments: [
            ("localhost", true), ("127.0.0.1:5433", true), ("[::1]", true), ("%2Frun%2Fpg", true),
            ("", true), ("%40abstract", true), ("localhost,127.0.0.2", true),
            ("localhost,db1", false), ("db1", false), ("192.0.2.1", false),
            ("127.example.com", false), ("localhost/logs?hostaddr=192.0.2.1", false),
            ("db1/logs?hostaddr=127.0.0.1", true), ("/logs?service=main", false),
        ]
    )
    func local(place: String, isLocal: Bool) throws {
        #expect(try target("postgresql://\(place)").isLocal == isLocal)
    }

    @Test(
        "A text that is no URL is refused without a part of it",
        arguments: [
            "", "canary", "mysql://canary@db1/logs", "host=db1 password=canary",
            "postgresql://db1/logs?canary=1", "postgresql://db1/logs?canary",
            "postgresql://joe:%zz@db1/logs", "postgresql://[::1/canary",
            // A password with a character that is not encoded.
            "postgresql://joe:ca/nary@db1/logs", "postgresql://joe:1/canary@db1/logs",
            "postgresql://joe:x@canary@db1/logs", "postgresql://joe:/canary@db1/logs",
            "postgresql://joe:x,1/canary@db1/logs",
            "postgresql://db1:canary/logs", "postgresql://db1:0/logs",
            "postgresql://db1:70000/logs",
            "postgresql://db1/logs?sslmode=canary",
        ]
    )
    func refused(url: String) throws {
        let settings = PostgreSQLSettings(url: Secret(url), node: "a")
        #expect(settings.target == nil)
        let problem = try #require(PostgreSQLSettings.problem(ofURL: settings.url))
        #expect(!problem.contains("nary"), "\(problem)")
    }

    @Test("A problem says what is wrong")
    func problems() {
        func problem(_ url: String) -> String? { PostgreSQLSettings.problem(ofURL: Secret(url)) }
        #expect(problem("postgresql://joe:canary@db1/logs") == nil)
        #expect(problem("db1") == "does not begin with postgresql://")
        #expect(problem("postgresql://db1:x") == "is no connection URL of PostgreSQL")
        #expect(
            problem("postgresql://db1?sslmode=verify_full")
                == "has an sslmode that is not one of disable, allow, prefer, require, verify-ca, verify-full"
        )
    }
}
