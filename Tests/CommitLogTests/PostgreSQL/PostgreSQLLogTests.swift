import Crypto
import Glibc
import TestPostgreSQL
import TestSupport
import Testing

@testable import CommitLog

@Suite(.timeLimit(.minutes(10)), .enabled(if: Database.isInstalled, "it is not installed"))
final class PostgreSQLLogTests {
    let recorder = JournalRecorder()
    let cluster = "t\(UInt32.random(in: 1...UInt32.max))"

    func log(on database: Database? = nil, isSynced: Bool = true) throws -> PostgreSQLLog {
        let url = try database?.url ?? sharedDatabase.get().url
        let settings = PostgreSQLSettings(url: Secret(url), cluster: cluster, node: "a")
        return try self.log(settings, isSynced: isSynced)
    }

    func log(
        _ settings: PostgreSQLSettings,
        isSynced: Bool = true
    ) throws(CommitLogError) -> PostgreSQLLog {
        let cluster = PostgreSQLCluster(settings, isSynced: isSynced, recorder.journal)
        try cluster.open()
        let log = PostgreSQLLog(
            settings,
            of: settings.node,
            bytesMax: 1 << 30,
            isSynced: isSynced,
            journal: recorder.journal
        )
        try log.open(makes: true)
        return log
    }

    /// Ends the standby. The append that begins then must wait for it.
    @discardableResult
    func loseStandby(
        of database: Database,
        during append: () -> AppendAnswer
    ) throws -> Database.Server {
        let standby = try #require(database.standby)
        standby.kill()
        _ = try #require(append().doubt, "a commit did not wait for the standby")
        return standby
    }

    @Test("A commit waits for the standby, and is refused or settled by the time it is back")
    func standby() throws {
        let database = try Database()
        let log = try log(on: database)
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        let standby = try #require(database.standby)
        standby.kill()
        for _ in 0..<2 {
            let text = try #require(log.append([[2]], after: 1, id: id(2)).doubt)
            #expect(text.contains("is its standby there?"))
        }
        // Another append is not begun while the first one may still be taken.
        guard case .unreachable = log.append([[3]], after: 1, id: id(3)) else {
            Issue.record("two appends are under way")
            return
        }
        try standby.start()
        #expect(standby.waitUntilReady())
        let answer = log.append([[3]], after: 1, id: id(3))
        #expect(answer == .fenced || answer == .unreachable("an earlier append has no answer yet"))
        #expect(eventually { (try? log.entries().map(\.bytes)) == [[1], [2]] })
        #expect(eventually { log.append([[4]], after: 2, id: id(4)) == .appended(3) })
    }

    @Test("A commit whose wait for the standby is cancelled is not taken for durable")
    func cancelled() throws {
        let database = try Database()
        let log = try log(on: database)
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        let standby = try loseStandby(of: database) { log.append([[2]], after: 1, id: id(2)) }
        try database.primary.query(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        )
        let text = log.append([[2]], after: 1, id: id(2)).doubt
        #expect(text == "the server did not wait for its standby")
        // Not even that it is there is told before the standby has it.
        #expect(log.append([[2]], after: 1, id: id(2)).doubt != nil)
        try standby.start()
        #expect(eventually { log.append([[2]], after: 1, id: id(2)) == .fenced })
        #expect(try log.entries().map(\.bytes) == [[1], [2]])
    }

    @Test(
        "What was acknowledged is there after a crash of the server, and on a standby that takes over"
    )
    func failover() throws {
        let database = try Database()
        let settings = PostgreSQLSettings(
            url: Secret(database.urlOfBoth),
            cluster: cluster,
            node: "a"
        )
        let log = try log(settings)
        var last: UInt64 = 0
        func append() -> AppendAnswer { log.append([[UInt8(last)]], after: last, id: id(last + 1)) }
        func goOn(_ count: UInt64) {
            for _ in 0..<count {
                // A retry after an unknown outcome may find its own entry.
                let isThere = eventually(within: .seconds(30)) {
                    switch append() {
                    case .appended, .fenced: true
                    default: false
                    }
                }
                #expect(isThere)
                last += 1
            }
        }
        goOn(10)
        database.primary.kill()
        try database.primary.start()
        goOn(10)
        database.primary.kill()
        // The standby has no standby of its own.
        let standby = try #require(database.standby)
        try standby.query("SELECT pg_promote()")
        #expect(eventually { (try? standby.query("SELECT pg_is_in_recovery()")) == "f\n" })
        try standby.query("ALTER SYSTEM SET synchronous_standby_names = ''")
        try standby.query("SELECT pg_reload_conf()")
        var alone = settings
        alone.copies = .storage
        let heir = PostgreSQLLog(
            alone,
            of: "a",
            bytesMax: 1 << 30,
            isSynced: true,
            journal: recorder.journal
        )
        #expect(eventually { (try? heir.entries().count) == 20 })
        #expect(heir.append([[20]], after: 20, id: id(21, writer: 2)) == .appended(21))
        #expect(recorder.count(of: "connection to the database lost") > 0)
    }

    @Test("A server that does not promise what the queue does is refused, with the remedy")
    func promises() throws {
        func refusal(_ settings: [String], isSynced: Bool = true) throws -> String? {
            let database = try Database(hasStandby: false, settings: settings)
            do {
                _ = try log(on: database, isSynced: isSynced)
                return nil
            } catch let error as CommitLogError {
                #expect(error.kind == .refused)
                return error.description
            }
        }
        #expect(
            try refusal([])
                == "the server has no synchronous standby, so the loss of its disk would lose commits; set "
                + "synchronous_standby_names, or set queue.postgresql.copies: storage if its storage is "
                + "replicated, or queue.durability: normal"
        )
        #expect(try refusal(["fsync = off"])?.hasPrefix("the server has fsync = off") == true)
        #expect(try refusal(["fsync = off"], isSynced: false) == nil)
    }

    @Test("A commit that fails after its statement was done is not taken for durable")
    func failedCommits() throws {
        let database = try sharedDatabase.get()
        let log = try log()
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        try database.primary.query(
            """
            CREATE FUNCTION \(cluster)_fails() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN RAISE EXCEPTION ''not now'' USING ERRCODE = ''40001''; END';
            CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON "sluice_\(cluster)_log"
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION \(cluster)_fails();
            """
        )
        let text = try #require(log.append([[2]], after: 1, id: id(2)).doubt)
        #expect(text.contains("not now"))
        try database.primary.query("DROP TRIGGER fails ON \"sluice_\(cluster)_log\"")
        #expect(log.append([[2]], after: 1, id: id(2)) == .appended(2))
    }

    @Test("A commit is not taken for durable when the server stops to wait for a standby")
    func noMoreStandby() throws {
        let database = try Database()
        let log = try log(on: database)
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        try loseStandby(of: database) { log.append([[2]], after: 1, id: id(2)) }
        try database.primary.query("ALTER SYSTEM SET synchronous_standby_names = ''")
        try database.primary.query("SELECT pg_reload_conf()")
        let text = log.append([[2]], after: 1, id: id(2)).doubt
        #expect(text == "the server did not wait for its standby")
        #expect(
            eventually {
                guard case .refused(let text) = log.append([[2]], after: 1, id: id(2)) else {
                    return false
                }
                return text.hasPrefix("the server has no synchronous standby")
            }
        )
    }

    @Test("Defaults of the user do not weaken the fence or hide a warning")
    func userDefaults() throws {
        let database = try Database()
        for setting in [
            "default_transaction_isolation = 'repeatable read'", "client_min_messages = error",
            "statement_timeout = '1s'", "synchronous_commit = off",
        ] {
            try database.primary.query("ALTER ROLE sluice SET \(setting)")
        }
        let log = try log(on: database)
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        try loseStandby(of: database) { log.append([[2]], after: 1, id: id(2)) }
        try database.primary.query(
            "SET synchronous_commit = off; SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        )
        let text = log.append([[2]], after: 1, id: id(2)).doubt
        #expect(text == "the server did not wait for its standby")
    }

    @Test("A user who may only read is refused")
    func rights() throws {
        let database = try sharedDatabase.get()
        _ = try log()
        let reader = "reader_\(cluster)"
        try database.primary.query("CREATE ROLE \(reader) LOGIN")
        try database.primary.query("GRANT SELECT ON \"sluice_\(cluster)_log\" TO \(reader)")
        let url = "postgresql://\(reader)@127.0.0.1:\(database.primary.port)/postgres"
        let settings = PostgreSQLSettings(url: Secret(url), cluster: cluster, node: "b")
        let cluster = PostgreSQLCluster(settings, recorder.journal)
        for body in [
            { () throws in _ = try self.log(settings) }, { () throws in _ = try cluster.check() },
        ] {
            #expect { try body() } throws: { error in
                (error as? CommitLogError)?.kind == .refused && "\(error)".contains("grant")
            }
        }
    }

    @Test("Defaults of the server that confirm too early do not count")
    func defaults() throws {
        let database = try Database(settings: ["synchronous_commit = off"])
        let log = try log(on: database)
        try loseStandby(of: database) { log.append([[1]], after: 0, id: id(1)) }
    }

    @Test("A login that is refused, and a database that is not there, are told")
    func logins() throws {
        let port = try sharedDatabase.get().primary.port
        for (url, text) in [
            (
                "postgresql://stranger@127.0.0.1:\(port)/postgres",
                "role \"stranger\" does not exist"
            ),
            ("postgresql://sluice@127.0.0.1:\(port)/other", "database \"other\" does not exist"),
        ] {
            let settings = PostgreSQLSettings(url: Secret(url), cluster: cluster, node: "a")
            #expect { try self.log(settings) } throws: { error in
                (error as? CommitLogError)?.kind == .refused && "\(error)".contains(text)
            }
        }
        let settings = PostgreSQLSettings(
            url: Secret("postgresql://127.0.0.1:1/postgres"),
            cluster: cluster,
            node: "a"
        )
        #expect { try self.log(settings) } throws: {
            ($0 as? CommitLogError)?.kind == .unreachable
        }
    }
}
