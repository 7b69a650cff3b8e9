import Configuration
import Crypto
import HTTP
import Net
import SLS
import System
import Testing

@testable import Ingest

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
