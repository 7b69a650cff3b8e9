import Configuration
import Crypto
import HTTP
import Logs
import Net
import SLS
import System
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct DeviceKeyTests {
    private static let phone = "phone-0123456789abcdef+/="
    private static let web = "web-0123456789abcdef0123"
    private static let track = "/logstores/app-log/track"
    private static let body = Array(#"{"a":1}"#.utf8)

    private func end() throws -> DeviceListener {
        try DeviceListener(
            keys: "{ name: phone, key: '\(Self.phone)' }",
            "{ name: web, key: '\(Self.web)', destinations: [app] }"
        )
    }

    private func counts(_ end: DeviceListener, _ name: String) -> KeyCounts? {
        end.shared.door.counts.first { $0.name == name }
    }

    /// What Basic says of the user is no matter.
    private static func basic(_ text: String) -> String {
        "Basic \(Digest.base64(Array(text.utf8)))"
    }

    @Test(
        "Each way to show a key is understood",
        arguments: [
            ("/logs/x", "authorization", "Bearer \(phone)"),
            ("/logs/x", "authorization", "bearer  \(phone)"),
            ("/logs/x", "authorization", basic("tenant:\(phone)")),
            ("/logs/x", "authorization", basic(":\(phone)")),
            ("/logs/x", "X-Sluice-Key", phone),
            ("/logs/x?topic=b&key=\(phone)&source=c", "x-other", "1"),
            ("/logs/x?key=phone-0123456789abcdef%2B%2F%3D", "authorization", "LOG id:signature"),
        ]
    )
    func ways(path: String, name: String, value: String) throws {
        let end = try end()
        let answer = try end.client.post(path, Self.body, [name: value])
        #expect(answer.status == 200, "\(answer.text)")
        #expect(counts(end, "phone")?.taken[.requests] == 1)
        #expect(counts(end, "phone")?.taken[.logs] == 1)
        #expect(counts(end, "phone")?.taken[.bodyBytes] == Self.body.count)
        #expect(counts(end, "web")?.taken == [:] && counts(end, "web")?.refused == [:])
    }

    @Test(
        "A missing or wrong key is 401 in the client's shape, before the body and whatever the address",
        arguments: [
            ("x-other", "1"), ("x-sluice-key", "phone-0123456789abcdef+/"), ("x-sluice-key", ""),
            ("x-sluice-key", "\(phone)x"), ("authorization", "Bearer wrong"),
            ("authorization", "Bearer"), ("authorization", phone),
            ("authorization", "Digest \(phone)"), ("authorization", basic("\(phone):wrong")),
            ("authorization", basic(phone)), ("authorization", "Basic !!!"),
            ("authorization", "Basic QQ=="), ("authorization", "Basic A"),
            ("x-sluice-key", String(repeating: "x", count: 1000)),
        ]
    )
    func refused(name: String, value: String) throws {
        let end = try end()
        let fields: KeyValuePairs = [name: value, "content-length": "1000"]
        for (path, start) in [
            (Self.track, #"{"errorCode":"Unauthorized","errorMessage":""#),
            ("/logstores/nobody-has-it/shards/lb", #"{"errorCode":"Unauthorized""#),
            ("/logs/x", #"{"error":{"code":"Unauthorized","message":""#),
        ] {
            // The body never comes.
            let answer = try end.client.post(path, "".utf8, fields)
            #expect(answer.status == 401, "\(path)")
            #expect(answer.text.hasPrefix(start), "\(answer.text)")
            #expect(answer["access-control-allow-origin"] == "*")
            #expect((answer["www-authenticate"] == nil) == (path != "/logs/x"))
            #expect(answer.body.count <= 255 || path == "/logs/x")
            #expect(value.count < 8 || !answer.text.contains(value))
        }
        let answer = try end.client.post(
            "/v1/logs",
            "{}".utf8,
            [name: value, "content-type": "application/json"]
        )
        #expect(answer.status == 401)
        #expect(answer.text.hasPrefix(#"{"code":16,"#), "\(answer.text)")
        #expect(end.queue.identities.isEmpty)
    }

    @Test("What brings no logs needs no key")
    func open() throws {
        let end = try end()
        for path in ["/healthz", "/servertime"] {
            #expect(try end.client.get(path).status == 200)
        }
        let preflight = try end.client.send("OPTIONS", Self.track)
        #expect(preflight.status == 204)
        #expect(preflight["access-control-allow-headers"]?.contains("x-sluice-key") == true)
    }

    @Test("A key reaches its destinations only, and learns that in its client's words")
    func destinations() throws {
        let end = try end()
        let web = ["x-sluice-key": Self.web] as KeyValuePairs
        #expect(try end.client.post("/logs/x", Self.body, web).status == 200)
        let elsewhere: KeyValuePairs = [
            "host": "other-project.gateway.test", "x-sluice-key": Self.web,
        ]
        let plain = try end.client.post("/logs/xx", Self.body, elsewhere)
        #expect(plain.status == 403)
        #expect(plain.text.contains(#""code":"Unauthorized""#))
        let sls = try end.client.post("/logstores/any-log/track", Self.body, elsewhere)
        #expect(sls.status == 401)
        #expect(sls.text.hasPrefix(#"{"errorCode":"Unauthorized""#))
        #expect(end.queue.identities.count == 1)
        #expect(counts(end, "web")?.refused[.destination] == 2)
    }

    @Test(
        "A key in a picture's address is no field of its log",
        arguments: ["", ".gif", "_ua.gif"]
    )
    func pixel(form: String) throws {
        let end = try end()
        let query = "?APIVersion=0.6.0&key=\(Self.web)&k=v&k%65y=\(Self.web)"
        #expect(try end.client.get(Self.track + form + query).status == 200)
        let fields = try #require(end.queue.stored.last).entries()[0].fields
        #expect(fields.map { "\($0.key)=\($0.value)" } == ["k=v"])
        let nothing = try end.client.get(Self.track + ".gif?key=\(Self.web)")
        #expect(nothing.status == 400)
        #expect(!nothing.text.contains(Self.web))
        #expect(try end.client.get(Self.track + form + "?k=v").status == 401)
    }

    @Test("Without keys everybody may send, and a field may be called key")
    func withoutKeys() throws {
        let end = try DeviceListener()
        #expect(try end.client.get(Self.track + "?key=value").status == 200)
        let fields = try #require(end.queue.stored.last).entries()[0].fields
        #expect(fields.map { "\($0.key)=\($0.value)" } == ["key=value"])
        let stale = ["authorization": "Bearer of-another-place"] as KeyValuePairs
        #expect(try end.client.post("/logs/x", Self.body, stale).status == 200)
    }

    @Test("New keys count at once, also on a connection that is open, and counts go on by name")
    func replaced() throws {
        let end = try end()
        let phone = ["x-sluice-key": Self.phone] as KeyValuePairs
        #expect(try end.client.post("/logs/x", Self.body, phone).status == 200)
        let new = "phone-of-today-0123456789"
        end.use([DeviceKey(name: "phone", secret: Secret(new))])
        #expect(try end.client.post("/logs/x", Self.body, phone).status == 401)
        let today = ["x-sluice-key": new] as KeyValuePairs
        #expect(try end.client.post("/logs/x", Self.body, today).status == 200)
        #expect(counts(end, "phone")?.taken[.requests] == 2)
        #expect(counts(end, "web") == nil)
        end.use([])
        #expect(try end.client.post("/logs/x", Self.body).status == 200)
    }
}

@Suite struct CertificatePatternTests {
    @Test(
        "A star stands for a part of a name",
        arguments: [
            ("dns:phone-7.example.com", "dns:phone-7.example.com", true),
            ("dns:Phone-7.example.com", "dns:phone-7.EXAMPLE.com", true),
            ("dns:phone-*.example.com", "dns:phone-7.example.com", true),
            ("dns:phone-*.example.com", "dns:phone-a_b-7.example.com", true),
            ("dns:phone-*.example.com", "dns:phone-.example.com", false),
            ("dns:phone-*.example.com", "dns:phone-7.evil.example.com", false),
            ("dns:phone-*.example.com", "dns:phone-7.example.com.evil", false),
            ("dns:phone-*.example.com", "dns:xphone-7.example.com", false),
            ("dns:*.example.com", "dns:*.example.com", false),
            ("dns:phone-*", "cn:phone-7", false),
            ("cn:phone-*", "cn:Phone-7", false),
            ("uri:spiffe://fleet/*", "uri:spiffe://fleet/a", true),
            ("uri:spiffe://fleet/*", "uri:spiffe://fleet/a/b", false),
            ("mail:*@example.com", "mail:a@example.com", true),
            ("mail:*@example.com", "mail:a@evil.com@example.com", false),
            ("dns:ab*ba", "dns:aba", false),
            ("ip:192.0.2.1", "ip:192.0.2.1", true),
            ("ip:192.0.2.1", "ip:192.0.2.10", false),
            ("ip:192.0.2.*", "ip:192.0.2.10", true),
            ("ip:::ffff:192.0.2.1", "ip:192.0.2.1", true),
            ("ip:2001:DB8::0:1", "ip:2001:db8::1", true),
            ("ip:2001:0db8:0000:0000:0000:0000:0000:0001", "ip:2001:db8::1", true),
            ("ip:2001:db8::1", "ip:2001:DB8:0:0::1", true),
            ("ip:2001:db8::1", "ip:2001:db8::2", false),
        ]
    )
    func covers(pattern: String, name: String, isCovered: Bool) throws {
        let pattern = try #require(CertificatePattern(pattern))
        #expect(pattern.covers(comparableName(name)) == isCovered)
    }

    @Test(
        "What has no kind, no name or two stars is none",
        arguments: ["", "phone", "dns:", "dns", "x:y", "dns:a*b*c", "DNS:a", "*:a"]
    )
    func wrong(text: String) {
        #expect(CertificatePattern(text) == nil)
    }

    private func key(_ name: String, _ secret: String?, _ patterns: [String]) -> DeviceKey {
        var key = DeviceKey(name: name, secret: secret.map { Secret($0) })
        key.certificates = patterns.compactMap { CertificatePattern($0) }
        return key
    }

    @Test("The very name goes before a pattern, and what is shown before both")
    func order() throws {
        let keys = DeviceKeys.made([
            key("all", nil, ["dns:*.example.com"]), key("more", nil, ["dns:a-*.example.com"]),
            key("one", "one-0123456789abcdef", ["dns:a-1.example.com", "cn:one"]),
        ])
        func sender(
            _ names: [String],
            _ fields: [(String, String)] = [],
            _ line: String = "POST /logs/x"
        ) throws -> String? {
            try keys.proven(.made(line, fields, at: .now, names: names))?.sender.name
        }
        #expect(try sender(["dns:a-1.example.com"]) == "one")
        #expect(try sender(["dns:a-2.example.com"]) == "all")
        #expect(try sender(["dns:x", "cn:one", "dns:b.example.com"]) == "one")
        #expect(try sender(["dns:b.example.com"]) == "all")
        let shown = [("x-sluice-key", "one-0123456789abcdef")]
        #expect(try sender(["dns:b.example.com"], shown) == "one")
        #expect(try sender([], shown) == "one")
        // The place of a shard.
        let route = "POST /logstores/a/shards/route?key=0123456789abcdef0123456789abcdef"
        #expect(try sender(["cn:one"], [], route) == "one")
        #expect(try sender(["cn:one"], [("authorization", "LOG a:b")], route) == "one")
        #expect(throws: AccessProblem.unknownKey) {
            try sender(["cn:one"], [("x-sluice-key", "wrong")])
        }
        #expect(throws: AccessProblem.missingKey) { try sender(["dns:x"]) }
        #expect(throws: AccessProblem.missingKey) { try sender([]) }
    }
}
