import Testing

@testable import Net

@Suite struct SocketAddressTests {
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
