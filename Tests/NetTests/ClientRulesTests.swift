import Testing

@testable import Net

@Suite struct ClientRulesTests {
    private func denied(_ denied: String..., name: String) throws -> String? {
        var settings = TLSSettings(certificates: [])
        settings.denied = try denied.map { try #require(CertificatePattern($0)) }
        return try ClientRules(settings).deniedName(of: ["dns:phone-7.example.com", name])
    }

    @Test(
        "A denied address is denied in every spelling",
        arguments: [
            ("ip:192.0.2.1", "ip:192.0.2.1"), ("ip:::ffff:192.0.2.1", "ip:192.0.2.1"),
            ("ip:2001:DB8::0:1", "ip:2001:db8::1"),
            ("ip:2001:0db8:0:0:0:0:0:0001", "ip:2001:db8::1"),
            ("ip:2001:db8::1", "ip:2001:DB8:0:0:0:0:0:1"), ("ip:192.0.2.*", "ip:192.0.2.1"),
        ]
    )
    func addresses(pattern: String, name: String) throws {
        #expect(try denied(pattern, name: name) == name)
        #expect(try denied("dns:other", pattern, name: name) == name)
        #expect(try denied(pattern, name: "ip:198.51.100.7") == nil)
    }
}
