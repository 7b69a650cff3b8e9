import Testing

@testable import Net

@Suite struct ListenAddressTests {
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
}
