import Credentials
import Crypto
import JSON
import Net
import Resolvers
import System
import TestConfiguration
import TestSupport
import Testing

@testable import Configuration

private let output = "destinations: {out: {kind: stdout}}\n"

/// Resolvers, and who uses them.
@Suite struct ResolverSettingsTests {
    private func resolver(_ text: String) throws -> ResolverSettings {
        try #require(read("\(output)resolvers: {r: {\(text)}}", [:]).names.resolvers["r"])
    }

    @Test("Alibaba with all that it may have")
    func alibaba() throws {
        let settings = try resolver(
            "kind: alibaba, account: \"100000\", secret: 00ff, aes_key: 000102030405060708090a0b0c0d0e0f, "
                + "encryption: cbc, region: sg, servers: [\"https://203.0.113.1\", \"http://127.0.0.1:8053\"], "
                + "client_ip: 192.0.2.1, parameters: {app: a1}, allow_private: true"
        )
        guard case .alibaba(let account) = settings.kind else {
            Issue.record("another kind")
            return
        }
        #expect(account.id == "100000" && account.secret == Secret("00ff"))
        #expect(account.encryption == .cbc && account.region == .sg && account.version == .v2)
        #expect(
            account.servers.map(\.origin) == [
                "https://resolvers.httpdns.aliyuncs.com", "http://127.0.0.1:8053",
            ]
        )
        #expect(account.servers[0].address == IPAddress("203.0.113.1"))
        #expect(account.clientAddress == IPAddress("192.0.2.1"))
        #expect(account.parameters == ["app": "a1"] && settings.allowsPrivate)
    }

    @Test("Tencent by key or by token")
    func tencent() throws {
        let keyed = try resolver("kind: tencent, id: \"1\", key: k, algorithm: des")
        #expect(keyed.kind == .tencent(TencentAccount(.des(id: "1", key: Secret("k")))))
        let token = try resolver("kind: tencent, token: \"987\"")
        #expect(token.kind == .tencent(TencentAccount(.token(Secret("987")))))
    }

    @Test("DNS over HTTPS, and Alibaba's JSON")
    func doh() throws {
        let wire = try resolver(
            "kind: doh, url: \"https://dns.example/dns-query\", addresses: [192.0.2.1]"
        )
        var settings = DoHSettings(
            server: ResolverServer(isEncrypted: true, name: "dns.example"),
            path: "/dns-query"
        )
        settings.addresses = [IPAddress("192.0.2.1")].compactMap(\.self)
        #expect(wire.kind == .doh(settings))
        let json = try resolver(
            "kind: doh, format: json, url: \"https://223.5.5.5/resolve\", account: \"1\", access_key: k, secret: s"
        )
        guard case .json(_, let account) = json.kind else {
            Issue.record("another kind")
            return
        }
        #expect(account == AlibabaJSON.Account(user: "1", key: "k", secret: Secret("s")))
    }

    @Test("Fixed hosts, in lower case")
    func fixed() throws {
        let settings = try resolver(
            "kind: static, hosts: {A.Example: [192.0.2.1, \"2001:db8::1\"]}"
        )
        let addresses = ["192.0.2.1", "2001:db8::1"].compactMap { IPAddress($0) }
        #expect(settings.kind == .fixed(["a.example": addresses]))
    }

    @Test("Lists of resolvers by host, for destinations, credentials and the webhook")
    func byHost() throws {
        let rules =
            "resolve: { \"*.log.Aliyuncs.com\": [lab, system], a.b: [system], default: lab }"
        let configuration = try read(
            """
            resolvers: { lab: { kind: static, hosts: { a.b: [192.0.2.1] } } }
            webhook: { url: "https://hooks.example/x", \(rules) }
            credentials: { c: { from: uri, uri: "http://a.b/c", \(rules) } }
            destinations: { out: { kind: http, url: "https://a.b/in", \(rules) } }
            """,
            [:]
        )
        var wanted: ResolverRules = ["lab"]
        wanted.byHost = ["*.log.aliyuncs.com": ["lab", "system"], "a.b": ["system"]]
        let destination = configuration.destinations[0]
        #expect(destination.transfer.transport.resolvers == wanted)
        #expect(configuration.webhook.resolvers == wanted)
        guard case .uri(let source)? = configuration.credentials["c"] else {
            Issue.record("another source")
            return
        }
        #expect(source.resolvers == wanted)
        var json = JSONWriter()
        json.object { $0.settings(destination) }
        #expect(
            json.text.contains(
                "\"resolve\":{\"*.log.aliyuncs.com\":[\"lab\",\"system\"],\"a.b\":[\"system\"],"
                    + "\"default\":[\"lab\"]}"
            ),
            "\(json.text)"
        )
    }

    @Test(
        "Mistakes in lists by host name the host",
        arguments: [
            ("{a.b: [lib]}", "resolve.a.b: there is no resolver named lib; did you mean lab?"),
            ("{a.b: [lab, lab]}", "resolve.a.b: names a resolver twice"),
            ("{a.b: []}", "resolve.a.b: "),
            ("{\"*.*.b\": [lab]}", "resolve.*.*.b: is not a host"),
            ("{\"a*.b\": [lab]}", "resolve.a*.b: is not a host"),
            ("{\"*\": [lab]}", "resolve.*: is not a host"),
            ("{default: [lib]}", "resolve.default: there is no resolver named lib"),
            ("[lib]", "resolve: there is no resolver named lib"),
        ]
    )
    func wrongByHost(list: String, problem: String) {
        let text = """
            resolvers: { lab: { kind: static, hosts: { a.b: [192.0.2.1] } } }
            destinations: { out: { kind: http, url: "https://a.b/in", resolve: \(list) } }
            """
        let told = TestConfiguration.problems(text, [:])
        #expect(told.contains { $0.contains("destinations.out.\(problem)") }, "\(told)")
    }

    @Test("Answers of a resolver that are used for their own TTL only")
    func uncached() throws {
        #expect(try resolver("kind: tencent, token: \"9\", cache: false").isCached == false)
        #expect(try resolver("kind: tencent, token: \"9\"").isCached)
    }

    @Test("Who asks which resolvers")
    func users() throws {
        let configuration = try read(
            """
            resolvers: { lab: { kind: static, hosts: { a.b: [192.0.2.1] } } }
            names: { ttl_min: 5s, ttl_max: 10m, max_stale: 2d, timeout: 1s, patience: 200ms, max_hosts: 9 }
            webhook: { url: "https://hooks.example/x", resolve: [lab] }
            credentials: { c: { from: uri, uri: "http://a.b/c", resolve: [lab, system] } }
            destinations:
              one: { kind: http, url: "https://a.b/in", resolve: [lab] }
              two: { kind: http, url: "https://a.b/in2", resolve: [system] }
              three: { kind: http, url: "https://a.b/in3" }
            """,
            [:]
        )
        #expect(
            configuration.destinations.map(\.transfer.transport.resolvers) == [["lab"], [], []]
        )
        #expect(configuration.destinations[0].transfer.transport.resolvers == ["lab"])
        #expect(configuration.webhook.resolvers == ["lab"])
        #expect(configuration.names.ttlMax == .seconds(600) && configuration.names.maxHosts == 9)
        guard let used = configuration.credentials["c"], case .uri(let source) = used else {
            Issue.record("another source")
            return
        }
        #expect(source.resolvers == ["lab", "system"])
    }

    @Test(
        "What cannot be is told with its key and a remedy",
        arguments: [
            ("r: {}", "r.kind: is missing; write one of alibaba, tencent, doh, static"),
            ("r: {kind: alibabba}", "r.kind: \"alibabba\" is not one of alibaba"),
            ("r: {kind: alibaba}", "r.account: is missing; write the account's id"),
            ("r: {ALI, aes_key: xyz}", "r.aes_key: is not a key"),
            ("r: {ALI, secret: xyz}", "r.secret: wants"),
            ("r: {ALI, servers: [203.0.113.1]}", "r.servers: \"203.0.113.1\" is not a server"),
            ("r: {ALI, token: x}", "r.token: unknown key"),
            ("r: {kind: tencent, id: 1}", "r.key: is missing"),
            (
                "r: {kind: tencent, token: x, servers: [\"http://203.0.113.1\"]}",
                "r.servers: http://203.0.113.1 would see the token in plain text"
            ),
            ("r: {kind: doh}", "r.url: is missing"),
            (
                "r: {kind: doh, url: \"http://203.0.113.1/dns-query\"}",
                "r.url: wants https"
            ),
            ("r: {kind: doh, url: \"https://a.b\"}", "r.url: is not the URL of a server"),
            (
                "r: {kind: doh, url: \"https://a.b/x\", secret: s}",
                "r.secret: is for format: json"
            ),
            ("r: {kind: static}", "r.hosts: is missing"),
            ("r: {kind: static, hosts: {a.b: [x]}}", "r.hosts.a.b: \"x\" is not an"),
            ("r: {kind: static, hosts: {1.2.3.4: [192.0.2.1]}}", "r.hosts.1.2.3.4: is"),
            ("system: {kind: static, hosts: {a.b: [192.0.2.1]}}", "system: is always"),
        ]
    )
    func problems(text: String, message: String) {
        let text = text.replacing("ALI", with: "kind: alibaba, account: 1")
        let told = TestConfiguration.problems("\(output)resolvers: {\(text)}", [:])
        #expect(told.contains { $0.contains("resolvers.\(message)") }, "\(told)")
    }

    @Test("An unknown resolver is told, with the one that may be meant")
    func unknown() {
        for (text, key) in [
            (
                "destinations: {out: {kind: http, url: \"http://a.b/in\", resolve: [aly]}}",
                "destinations.out.resolve"
            ),
            ("\(output)webhook: {url: \"https://a.b/x\", resolve: [aly]}", "webhook.resolve"),
        ] {
            let resolvers = "\nresolvers: {ali: {kind: static, hosts: {a.b: [192.0.2.1]}}}"
            let told = TestConfiguration.problems(text + resolvers, [:])
            let said = "\(key): there is no resolver named aly; did you mean ali?"
            #expect(told.contains { $0.contains(said) }, "\(told)")
        }
    }
}
