import Net
import Testing

@Suite struct IPAddressTests {
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
}
