import Testing

@testable import Net

@Suite
struct AddressTests {
    @Test(
        "Hosts that are always this machine",
        arguments: [
            ("127.0.0.1", true), ("127.8.9.10", true), ("::1", true), ("::ffff:127.0.0.1", true),
            ("localhost", true), ("128.0.0.1", false), ("10.127.0.1", false), ("::2", false),
            ("::", false), ("1::1", false), ("127.example.com", false), ("", false),
        ]
    )
    func loopback(host: String, isLoopback: Bool) {
        #expect(IPAddress.isLoopback(host: host) == isLoopback)
    }

    @Test(
        "An IP address is parsed exactly",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
            ("2001:DB8:0::1", "2001:db8::1"), ("::1", "::1"), ("0.0.0.0", "0.0.0.0"),
            ("::", "::"), ("1.2.3", nil), ("1.2.3.4.5", nil), ("01.2.3.4", nil),
            ("256.1.1.1", nil), ("1.2.3.4:80", nil), ("[::1]", nil), ("fe80::1%eth0", nil),
            (" 1.2.3.4", nil), ("1.2.3.4 ", nil), ("1.2.3.4\0", nil), ("", nil), ("localhost", nil),
            ("1::2::3", nil), ("12345::", nil), (":", nil), ("0x7f.0.0.1", nil),
            (String(repeating: "0:", count: 40), nil),
        ]
    )
    func addresses(text: String, expected: String?) {
        #expect(IPAddress(text)?.description == expected)
    }

    @Test(
        "A range contains the addresses with its prefix",
        arguments: [
            ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.1.2.3", true), ("10.0.0.0/8", "a00::", false),
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.128/25", "192.0.2.127", false), ("192.0.2.128/25", "192.0.2.200", true),
            ("0.0.0.0/0", "255.1.2.3", true), ("0.0.0.0/0", "::1", false),
            ("::/0", "::1", true), ("::/0", "1.2.3.4", true),
            ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
            ("2001:db8::/64", "2001:db8::ffff:0:0:1", true),
            ("2001:db8::/127", "2001:db8::1", true), ("2001:db8::/127", "2001:db8::2", false),
            ("::1", "::1", true), ("::1/128", "::2", false),
            ("::ffff:10.0.0.0/104", "10.1.1.1", true),
        ]
    )
    func ranges(range: String, address: String, isWithin: Bool) throws {
        let range = try AddressRange(parsing: range)
        #expect(range.contains(try #require(IPAddress(address))) == isWithin)
    }

    @Test("A range is printed as it was parsed")
    func written() throws {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "2001:db8::/33", "::/0", "::/96"] {
            #expect(try AddressRange(parsing: text).description == text)
        }
        #expect(try AddressRange(parsing: "192.0.2.1").description == "192.0.2.1/32")
    }

    @Test(
        "A malformed range is refused with the correct form",
        arguments: [
            ("10.0.0.1/8", "write 10.0.0.0/8"), ("2001:db8::1/32", "write 2001:db8::/32"),
            ("10.0.0.0/33", "0 to 32 bits"), ("::/129", "0 to 128 bits"), ("10.0.0.0/", "bits"),
            ("10.0.0.0/+8", "bits"), ("10.0.0.0/8/8", "bits"), ("10/8", "such as 10.0.0.0/8"),
            ("", "such as 10.0.0.0/8"), ("proxy.example.com", "such as 10.0.0.0/8"),
        ]
    )
    func mistakes(text: String, remedy: String) {
        let error = #expect(throws: AddressRangeError.self) { try AddressRange(parsing: text) }
        #expect(error?.description.contains(remedy) == true, "\(error?.description ?? "")")
    }

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
    func deniedAddresses(pattern: String, name: String) throws {
        #expect(try denied(pattern, name: name) == name)
        #expect(try denied("dns:other", pattern, name: name) == name)
        #expect(try denied(pattern, name: "ip:198.51.100.7") == nil)
    }

    @Test(
        "A listen address is parsed in each common form",
        arguments: [
            ("0.0.0.0:8080", "0.0.0.0", 8080, "0.0.0.0:8080"),
            ("127.0.0.1:0", "127.0.0.1", 0, "127.0.0.1:0"),
            ("[::1]:80", "::1", 80, "[::1]:80"),
            ("[::]:65535", "::", 65535, "[::]:65535"),
            (":8080", "::", 8080, "[::]:8080"),
            ("[0:0::0]:8080", "::", 8080, "[::]:8080"),
            ("[::ffff:127.0.0.1]:8080", "127.0.0.1", 8080, "127.0.0.1:8080"),
            ("localhost:81", "127.0.0.1", 81, "127.0.0.1:81"),
        ] as [(String, String, UInt16, String)]
    )
    func reads(text: String, host: String, port: UInt16, description: String) throws {
        let address = try ListenAddress(parsing: text)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.description == description)
    }

    @Test(
        "A malformed listen address is refused with the correct form",
        arguments: [
            "", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "1.2.3:80",
            "::1:80", "[::1]", "[127.0.0.1]:80", "[]:80", "example.com:80", "127.0.0.1:8o",
            "[::1:80",
        ]
    )
    func refuses(text: String) {
        let error = #expect(throws: ListenAddressError.self) {
            _ = try ListenAddress(parsing: text)
        }
        #expect(error?.description.contains("write it like 0.0.0.0:8080") == true)
    }

    @Test(
        "A numeric address keeps its text, and a mapped one is printed as IPv4",
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::1"),
            ("::ffff:192.0.2.1", "192.0.2.1"), ("::1", "::1"),
        ]
    )
    func text(written: String, expected: String) throws {
        let address = try #require(SocketAddress(host: written, port: 1234))
        #expect(address.host == expected)
        #expect(address.port == 1234)
    }

    @Test(
        "Limits count v4 by address and v6 by /64",
        arguments: [
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true), ("2001:db8::1", "2001:db8::2", true),
            ("2001:db8:0:1::1", "2001:db8:0:2::1", false), ("::1", "0.0.0.1", false),
        ]
    )
    func neighbours(one: String, other: String, areNeighbours: Bool) throws {
        let one = try #require(SocketAddress(host: one, port: 1))
        let other = try #require(SocketAddress(host: other, port: 2))
        #expect((one.neighbourhood == other.neighbourhood) == areNeighbours)
    }
}
