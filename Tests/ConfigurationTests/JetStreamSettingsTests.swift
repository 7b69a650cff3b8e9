import CommitLog
import Crypto
import NATS
import Net
import Queue
import System
import TestConfiguration
import TestSupport
import Testing

@testable import Configuration

/// `queue.engine`, and the brokers of one of them.
@Suite struct JetStreamSettingsTests {
    private let directory = TemporaryDirectory()
    private static let made = TestCertificates.shared
    private static let output = "listen: 127.0.0.1:8080\ndestinations: {out: {kind: stdout}}\n"
    private static let server = "servers: \"nats://n1\""

    private func queue(_ text: String, _ environment: [String: String] = [:]) throws
        -> QueueSettings
    {
        try read("\(Self.output)queue: {\(text)}\n", environment).queue
    }

    private func configuration(_ brokers: String) throws -> GatewayConfiguration {
        try read("\(Self.output)queue: {engine: jetstream, jetstream: {\(brokers)}}\n", [:])
    }

    private func brokers(_ text: String, _ environment: [String: String] = [:]) throws
        -> JetStreamSettings
    {
        let queue = try queue("engine: jetstream, jetstream: {\(text)}", environment)
        return try #require(queue.jetStream)
    }

    /// C:NAME and K:NAME stand for the files of a certificate and its key.
    private func files(_ text: String) -> String {
        ["client", "exact", "authority"].reduce(text) { text, name in
            text.replacing("C:\(name)", with: Self.made.certificate(name))
                .replacing("K:\(name)", with: Self.made.key(name))
        }
    }

    /// Without the file and line, which are the same for all.
    private func problems(_ queue: String) -> [String] {
        TestConfiguration.problems("\(Self.output)queue: {\(files(queue))}\n", [:]).map {
            $0.replacing("sluice.yaml:3: queue.", with: "")
                .replacing(Self.made.directory + "/", with: "")
        }
    }

    @Test("SQLite is the engine unless another is named")
    func defaults() throws {
        let plain = try read(Self.output, [:]).queue
        #expect(plain.engine == .sqlite && plain.jetStream == nil)
        #expect(plain.commitWait == .seconds(8))
        #expect(try queue("engine: sqlite") == plain)
        #expect(try queue("jetstream: ") == plain, "a group without a value is none")
    }

    @Test("The brokers alone are enough")
    func least() throws {
        let queue = try queue(
            "engine: jetstream, durability: normal, jetstream: {\(Self.server)}"
        )
        #expect(queue.engine == .jetStream && queue.durability == .normal)
        let host = try #require(machineName())
        let node = try #require(NodeEntry.name(ofHost: host))
        #expect(
            queue.jetStream
                == JetStreamSettings(servers: [NATSServerAddress(host: "n1")], node: node)
        )
    }

    @Test("Every setting is understood")
    func whole() throws {
        let credentials = directory.file("nats.creds", "secret")
        let text = """
            engine: jetstream, commit_wait: 1m, jetstream: {
              servers: ["nats://n1:4222", "nats://n2", "tls://n3.example.com:4443"],
              cluster: eu-1_b, node: "${HOSTNAME}", replicas: 5, weaken: true, credentials: \(credentials),
              tls: { ca_file: C:authority, certificate: C:client, key: K:client }}
            """
        let queue = try queue(files(text), ["HOSTNAME": "gw-1"])
        #expect(queue.commitWait == .seconds(60))
        let servers = [
            NATSServerAddress(host: "n1"), NATSServerAddress(host: "n2"),
            NATSServerAddress(host: "n3.example.com", port: 4443, wantsTLS: true),
        ]
        let tls = OutboundTLS(
            authorities: Self.made.certificate("authority"),
            certificate: Self.made.files("client")
        )
        let settings = JetStreamSettings(
            servers: servers,
            authentication: .credentials(file: credentials),
            tls: tls,
            cluster: "eu-1_b",
            node: "gw-1",
            replicas: 5,
            weakens: true
        )
        #expect(queue.jetStream == settings)
        // Answers hold logs: no other user's inboxes begin so.
        #expect(settings.client.inboxPrefix == "sluice.eu-1_b.inbox")
    }

    @Test("Each way to authenticate")
    func authentication() throws {
        let seed = directory.file("user.nk", "secret")
        func way(_ text: String) throws -> NATSSettings.Authentication {
            try brokers("\(Self.server), \(text)", ["WORD": "pass wörd"]).authentication
        }
        #expect(try brokers(Self.server).authentication == .none)
        #expect(try way("nkey: \(seed)") == .seed(file: seed))
        #expect(
            try way("user: joe, password: \"${WORD}\"")
                == .user("joe", password: Secret("pass wörd"))
        )
        #expect(try way("token: 987") == .token(Secret("987")))
    }

    @Test("An empty group turns TLS on")
    func emptyTLS() throws {
        #expect(try brokers(Self.server).tls == nil)
        #expect(try brokers("\(Self.server), tls: {}").tls == OutboundTLS())
    }

    @Test(
        "Addresses of version 6 stand in brackets",
        arguments: [
            ("nats://[2001:db8::1]", "2001:db8::1", 4222), ("nats://[::1]:4223", "::1", 4223),
        ] as [(String, String, UInt16)]
    )
    func version6(text: String, host: String, port: UInt16) throws {
        let servers = try brokers("servers: \"\(text)\"").servers
        #expect(servers == [NATSServerAddress(host: host, port: port)])
        #expect(servers.first?.description == "nats://[\(host)]:\(port)")
    }

    @Test(
        "The host's name becomes the node's",
        arguments: [
            ("gw-1", "gw-1"), ("gw_1.example.com", "gw_1_example_com"), ("Gerät 7", "Ger_t_7"),
            ("", nil),
            (String(repeating: "a", count: 70), String(repeating: "a", count: 64)),
        ] as [(String, String?)]
    )
    func node(host: String, name: String?) {
        #expect(NodeEntry.name(ofHost: host) == name)
    }

    // MARK: - Mistakes

    private static let missing =
        "jetstream.servers: is missing, and engine: jetstream needs it; name the brokers, as in "
        + "[\"nats://n1:4222\", \"nats://n2:4222\", \"nats://n3:4222\"]"
    private static let isSecond =
        "is given too; keep one of credentials, nkey, user with password, and token"
    private static let unreadable =
        "cannot be read: No such file or directory; check the path and that the gateway's user may read the file"

    @Test(
        "The engine and its group belong together",
        arguments: [
            ("engine: jetstream", [missing]), ("engine: jetstream, jetstream: {}", [missing]),
            ("engine: jetstream, jetstream: 5", ["jetstream: wants a group of settings, got a"]),
            ("jetstream: {}", ["jetstream: nothing uses it with engine: sqlite; set"]),
            ("engine: jetsteam, jetstream: {}", ["engine: \"jetsteam\" is not one of sqlite,"]),
            ("commit_wait: 500ms", ["commit_wait: 500ms is not between 1s and 1m"]),
        ]
    )
    func engine(text: String, said: [String]) {
        #expect(problems(text).begin(with: said), "\(problems(text))")
    }

    @Test(
        "A mistake in the group is named with its key and remedy",
        arguments: [
            (
                "servers: [\"nats://n1\", \"tls://N1:4222\"]",
                ["servers: tls://N1:4222 is given twice; name each broker once"]
            ),
            ("servers: []", ["servers: is an empty list; give at least 1"]),
            (
                "servers: \"n1:4222\"",
                [
                    "servers: has no scheme; write it as nats://n1:4222, or tls://n1:4222 for TLS"
                ]
            ),
            (
                "servers: [\"http://n1\", \"nats://n1:0\", \"nats://2001:db8::1\"]",
                [
                    "servers: is not the address of a broker; write it as nats://n1:4222, tls://n1:4222 or "
                        + "nats://[2001:db8::1]:4222"
                ]
            ),
            ("\(server), cluster: eu.west", ["cluster: \"eu.west\" is not 1 to 32 letters,"]),
            ("\(server), node: gw.example.com", ["node: \"gw.example.com\" is not 1 to 64"]),
            ("\(server), replicas: 4", ["replicas: \"4\" is not one of 1, 3, 5; did you mean 1?"]),
            (
                "\(server), token: x, user: joe, password: y, nkey: K:client",
                ["user: nkey \(isSecond)", "token: nkey \(isSecond)"]
            ),
            ("\(server), user: joe", ["password: is missing; give the password of user, or take"]),
            ("\(server), password: x", ["user: is missing; name the user of the password, or"]),
            ("\(server), token: ", ["token: has no value; give one, or take the line away"]),
            ("\(server), token: \"\"", ["token: is empty; give it, or take the line away"]),
            ("\(server), token: \"a\\nb\"", ["token: has line ends or other control characters;"]),
            ("\(server), credentials: /none", ["credentials: /none \(unreadable)"]),
            ("\(server), nkey: /none", ["nkey: /none \(unreadable)"]),
            (
                "\(server), tls: {ca_file: /none, key: K:client}",
                [
                    "tls.certificate: is missing; name the file with the certificate of the key (PEM)",
                    "tls.ca_file: /none \(unreadable)",
                ]
            ),
            ("\(server), tls: {certificate: C:client}", ["tls.key: is missing; name the file"]),
            ("\(server), tls: ", ["tls: has no value; give one, or take the line away"]),
            ("\(server), nkeys: x", ["nkeys: unknown key; did you mean nkey?"]),
        ]
    )
    func mistakes(text: String, said: [String]) {
        let found = problems("engine: jetstream, jetstream: {\(text)}")
        #expect(found.begin(with: said.map { "jetstream.\($0)" }), "\(found)")
    }

    @Test("A key must belong to the certificate")
    func otherKey() {
        let said = problems(
            "engine: jetstream, jetstream: {\(Self.server), tls: {certificate: C:client, key: K:exact}}"
        )
        #expect(said.count == 1)
        #expect(
            said[0].hasPrefix("jetstream.tls.key: the private key in exact.key does not belong to"),
            "\(said)"
        )
    }

    @Test("Files that are replaced hinder no other change")
    func elsewhere() throws {
        let text =
            "\(Self.output)queue: {engine: jetstream, jetstream: {\(Self.server), nkey: /none, tls: {ca_file: /none}}}"
        var inputs = ConfigurationInputs(file: directory.file("sluice.yaml", text))
        inputs.readsCertificates = false
        #expect(try GatewayConfiguration.read(inputs).queue.jetStream != nil)
    }

    // MARK: - What is shown

    @Test("A secret is never shown", arguments: ["user: joe, password: canary", "token: canary"])
    func secrets(text: String) throws {
        let configuration = try configuration("\(Self.server), \(text)")
        #expect(!everythingShown(of: configuration).contains("canary"))
        let secret = try #require(
            configuration.effective.first { $0.isHidden && $0.key.hasPrefix("queue.") }
        )
        #expect(secret.value == nil && secret.origin == .file(line: 3))
    }

    @Test(
        "An error repeats no secret that stands in the wrong place",
        arguments: [
            "servers: \"nats://joe:canary@n1:4222\"", "servers: \"nats://canary@n1\"",
            "servers: \"canary@n1\"", "servers: \"nats://joe:x,canary@n1\"",
            "\(server), token: \"canary\\n\"",
        ]
    )
    func misplaced(text: String) {
        let said = problems("engine: jetstream, jetstream: {\(text)}")
        #expect(!said.isEmpty && !said.joined().contains("canary"), "\(said)")
    }

    @Test("A password in an address is told where it belongs")
    func passwordInAddress() {
        #expect(
            problems("engine: jetstream, jetstream: {servers: \"nats://joe:canary@n1\"}") == [
                "jetstream.servers: holds a name, password or token; give user and password, or token, "
                    + "beside servers"
            ]
        )
    }

    @Test("Settings in force are listed, and unset ones are not")
    func effective() throws {
        let configuration = try configuration("\(Self.server), node: gw, tls: {}")
        let shown = configuration.effective.filter { $0.key.hasPrefix("queue.jetstream") }
        #expect(
            shown.map { "\($0.key)=\($0.value ?? "")" } == [
                "queue.jetstream.servers=nats://n1:4222", "queue.jetstream.cluster=main",
                "queue.jetstream.node=gw", "queue.jetstream.replicas=3",
                "queue.jetstream.weaken=false", "queue.jetstream.tls={}",
            ]
        )
        let plain = try read(Self.output, [:]).effective.filter { $0.key.hasPrefix("queue.jet") }
        #expect(plain.isEmpty)
    }

    @Test("The summary of a check tells of the brokers, and warns of a single copy")
    func summary() throws {
        func summary(_ text: String) throws -> String {
            let brokers = "servers: [\"nats://n1\", \"tls://n2\"], node: gw"
            return ConfigurationSummary.text(try configuration("\(brokers), \(text)"))
        }
        let usual = try summary("user: joe, password: canary, tls: {}")
        #expect(
            usual.contains(
                """
                  queue        /var/lib/sluice, engine jetstream, up to 4GiB or 7d, durability full
                               node gw of cluster main, 3 replicas, at nats://n1:4222, tls://n2:4222 as user joe, TLS

                """
            )
        )
        #expect(!usual.contains("warning"))
        let single = try summary("replicas: 1, token: canary")
        #expect(
            single.contains("main, 1 replica, at nats://n1:4222, tls://n2:4222 with a token\n")
        )
        #expect(
            single.contains(
                "  warning      queue.jetstream.replicas is 1, so the disk of one broker holds the only copy of "
                    + "accepted logs; set it to 3, which needs three brokers"
            )
        )
    }

    @Test("A start warns of a secret for brokers of other machines without TLS")
    func openBrokers() throws {
        func warnings(_ servers: String, _ text: String) throws -> [String] {
            try configuration("servers: [\(servers)], \(text)").startWarnings
        }
        let user = "user: joe, password: canary"
        func warning(_ secret: String) -> String {
            "queue.jetstream.\(secret) and logs may travel unencrypted to nats://n1:4222, or to a server that "
                + "poses as it; give the brokers certificates and set queue.jetstream.tls"
        }
        #expect(try warnings("\"nats://n1\"", user) == [warning("password")])
        #expect(try warnings("\"tls://n2\", \"nats://n1\"", "token: x") == [warning("token")])
        #expect(try warnings("\"nats://n1\"", "\(user), tls: {}") == [])
        #expect(try warnings("\"tls://n1\"", user) == [])
        #expect(
            try warnings("\"nats://127.0.0.1\", \"nats://localhost\", \"nats://[::1]\"", user) == []
        )
        #expect(try warnings("\"nats://n1\"", "replicas: 3") == [])
    }

    @Test("A change of engine is one change")
    func changedEngine() throws {
        let before = try read(Self.output, [:])
        let after = try configuration(Self.server)
        let told = [ConfigurationChange(key: "queue.engine", isImmediate: false)]
        #expect(before.changes(to: after) == told && after.changes(to: before) == told)
    }
}
