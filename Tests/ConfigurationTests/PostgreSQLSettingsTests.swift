import CommitLog
import Crypto
import System
import TestConfiguration
import TestSupport
import Testing

@testable import Configuration

/// `queue.postgresql`, the database of `queue.engine: postgresql`.
@Suite struct PostgreSQLSettingsTests {
    private static let output = "listen: 127.0.0.1:8080\ndestinations: {out: {kind: stdout}}\n"
    private static let url = "url: \"postgresql://joe:canary@db1:5433/logs?sslmode=verify-full\""
    private static let secret = Secret("postgresql://joe:canary@db1:5433/logs?sslmode=verify-full")

    private func configuration(
        _ text: String,
        _ environment: [String: String] = [:]
    ) throws -> GatewayConfiguration {
        let queue = "queue: {engine: postgresql, postgresql: {\(text)}}\n"
        return try read(Self.output + queue, environment)
    }

    /// Without the file and line, which are the same for all.
    private func problems(_ queue: String) -> [String] {
        TestConfiguration.problems("\(Self.output)queue: {\(queue)}\n", [:])
            .map { $0.replacing("sluice.yaml:3: queue.", with: "") }
    }

    @Test("The URL alone is enough")
    func least() throws {
        let queue = try configuration(Self.url).queue
        #expect(queue.engine == .postgreSQL && queue.jetStream == nil)
        let host = try #require(machineName())
        let node = try #require(NodeEntry.name(ofHost: host))
        #expect(queue.postgreSQL == PostgreSQLSettings(url: Self.secret, node: node))
    }

    @Test("Every setting is understood")
    func whole() throws {
        let text = "\(Self.url), cluster: eu-1_b, node: \"${HOSTNAME}\", copies: storage"
        let settings = PostgreSQLSettings(
            url: Self.secret,
            cluster: "eu-1_b",
            node: "gw-1",
            copies: .storage
        )
        #expect(try configuration(text, ["HOSTNAME": "gw-1"]).queue.postgreSQL == settings)
        #expect(
            try configuration("\(Self.url), copies: standby").queue.postgreSQL?.copies == .standby
        )
    }

    @Test("The URL comes from a file, or its password from a variable")
    func substituted() throws {
        let directory = TemporaryDirectory()
        let file = directory.file("url", "postgresql://joe:canary@db1/logs\n")
        func url(_ text: String) throws -> Secret? {
            try configuration("url: \"\(text)\"", ["WORD": "canary"]).queue.postgreSQL?.url
        }
        let expected = Secret("postgresql://joe:canary@db1/logs")
        #expect(try url("${file:\(file)}") == expected)
        #expect(try url("postgresql://joe:${WORD}@db1/logs") == expected)
    }

    @Test("Without the group nothing is set")
    func absent() throws {
        #expect(try read(Self.output, [:]).queue.postgreSQL == nil)
        let plain = try read("\(Self.output)queue: {postgresql: }\n", [:])
        #expect(plain.queue.postgreSQL == nil, "a group without a value is none")
    }

    // MARK: - Mistakes

    private static let missing =
        "postgresql.url: is missing, and engine: postgresql needs it; \(example)"
    private static let example =
        "write it as postgresql://user:password@host:5432/database?sslmode=verify-full"
    private static func unused(_ group: String, with engine: String) -> String {
        "\(group): nothing uses it with engine: \(engine); set queue.engine: \(group), or take the group away"
    }

    @Test(
        "The engine and its group belong together",
        arguments: [
            ("engine: postgresql", [missing]), ("engine: postgresql, postgresql: {}", [missing]),
            ("engine: postgresql, postgresql: 5", ["postgresql: wants a group of settings, got a"]),
            ("postgresql: {}", [unused("postgresql", with: "sqlite")]),
            ("engine: sqlite, postgresql: {\(url)}", [unused("postgresql", with: "sqlite")]),
            (
                "engine: postgresql, postgresql: {\(url)}, jetstream: {servers: \"nats://n1\"}",
                [unused("jetstream", with: "postgresql")]
            ),
            (
                "engine: jetstream, postgresql: {\(url)}, jetstream: {servers: \"nats://n1\"}",
                [unused("postgresql", with: "jetstream")]
            ),
            ("engine: postgres, postgresql: {\(url)}", ["engine: \"postgres\" is not one of"]),
        ]
    )
    func engine(text: String, said: [String]) {
        #expect(problems(text).begin(with: said), "\(problems(text))")
    }

    private static let encoded = "\(example), with special characters percent-encoded"

    @Test(
        "A mistake in the group is named with its key and remedy",
        arguments: [
            ("url: \"db1:5432\"", "url: does not begin with postgresql://; \(encoded)"),
            (
                "url: \"postgresql://joe:a/b@db1/logs\"",
                "url: is no connection URL of PostgreSQL; \(encoded)"
            ),
            (
                "url: \"postgresql://db1/logs?sslmode=verify\"",
                "url: has an sslmode that is not one of disable, allow, prefer, require, verify-ca, "
                    + "verify-full; \(encoded)"
            ),
            ("url: ", "url: has no value; give one, or take the line away"),
            ("url: \"\"", "url: is empty; give it, or take the line away"),
            (
                "url: \"postgresql://db1/\\0logs\"",
                "url: has line ends or other control characters; give one line of text"
            ),
            ("url: [a]", "url: wants a URL such as postgresql://host:5432/database, got a list"),
            ("\(url), cluster: eu.west", "cluster: \"eu.west\" is not 1 to 32 letters, digits,"),
            ("\(url), node: gw.example.com", "node: \"gw.example.com\" is not 1 to 64 letters,"),
            ("\(url), copies: standbye", "copies: \"standbye\" is not one of standby, storage;"),
            ("\(url), urls: x", "urls: unknown key; did you mean url?"),
        ]
    )
    func mistakes(text: String, said: String) {
        let found = problems("engine: postgresql, postgresql: {\(text)}")
        #expect(found.begin(with: ["postgresql.\(said)"]), "\(found)")
    }

    // MARK: - What is shown

    @Test("The URL is never shown")
    func secrets() throws {
        let configuration = try configuration(Self.url)
        #expect(!everythingShown(of: configuration).contains("canary"))
        let shown = try #require(
            configuration.effective.first { $0.key == "queue.postgresql.url" }
        )
        #expect(shown.isHidden && shown.value == nil && shown.origin == .file(line: 3))
    }

    @Test(
        "An error repeats no part of the URL",
        arguments: [
            "canary", "postgresql://joe:ca/nary@db1", "postgresql://joe:x@canary@db1",
            "postgresql://joe:%zz@canary", "postgresql://db1?canary", "postgresql://canary\\n",
            "${canary nary}",
        ]
    )
    func misplaced(url: String) {
        let said = problems("engine: postgresql, postgresql: {url: \"\(url)\"}")
        #expect(!said.isEmpty && !said.joined().contains("nary"), "\(said)")
    }

    @Test("Settings in force are listed")
    func effective() throws {
        let shown = try configuration("\(Self.url), node: gw").effective.filter {
            $0.key.hasPrefix("queue.postgresql")
        }
        #expect(
            shown.map { "\($0.key)=\($0.value ?? "")" } == [
                "queue.postgresql.url=", "queue.postgresql.cluster=main",
                "queue.postgresql.node=gw", "queue.postgresql.copies=standby",
            ]
        )
    }

    @Test("The summary of a check tells of the database")
    func summary() throws {
        let usual = ConfigurationSummary.text(try configuration("\(Self.url), node: gw"))
        #expect(
            usual.contains(
                """
                  queue        /var/lib/sluice, engine postgresql, up to 4GiB or 7d, durability full
                               node gw of cluster main, copies standby, database logs at db1:5433, TLS

                """
            )
        )
        #expect(!usual.contains("warning"))
        let storage = ConfigurationSummary.text(
            try configuration("url: \"postgresql://localhost\", node: gw, copies: storage")
        )
        #expect(storage.contains("copies storage, the user's database at localhost:5432\n"))
        #expect(!storage.contains("warning"))
    }

    @Test("A start warns of a URL without verify-full to another machine")
    func warning() throws {
        func warnings(_ url: String) throws -> [String] {
            try configuration("url: \"postgresql://\(url)\"").startWarnings
        }
        #expect(
            try warnings("joe:canary@db1,db2:5433/logs?sslmode=verify-ca") == [
                "queue.postgresql.url does not say sslmode=verify-full, so its password and logs may travel "
                    + "unencrypted to db1:5432, db2:5433, or to a server that poses as it; add "
                    + "sslmode=verify-full, and sslrootcert with the file of the authority"
            ]
        )
        #expect(try warnings("db1").count == 1)
        #expect(try warnings("localhost,db1").count == 1)
        #expect(try warnings("db1?sslmode=verify-full") == [])
        #expect(try warnings("127.0.0.1,[::1],%2Frun%2Fpg?sslmode=disable") == [])
    }

    @Test("A change of engine is one change")
    func changedEngine() throws {
        let others = [
            try read(Self.output, [:]),
            try read(
                "\(Self.output)queue: {engine: jetstream, jetstream: {servers: \"nats://n1\"}}\n",
                [:]
            ),
        ]
        let own = try configuration(Self.url)
        let told = [ConfigurationChange(key: "queue.engine", isImmediate: false)]
        for other in others {
            #expect(other.changes(to: own) == told && own.changes(to: other) == told)
        }
    }
}
