import Configuration
import Crypto
import Testing

@testable import HTTPClient

@Suite struct ProxyTests {
    @Test("A proxy is read as people write it, and shown without its password")
    func parsing() throws {
        let plain = try Proxy(parsing: "http://proxy.example.com:3128")
        #expect(plain.address == "http://proxy.example.com:3128")
        #expect(plain.user == nil && plain.password == nil)
        #expect("\(plain)" == plain.address)

        let full = try Proxy(parsing: "HTTPS://al%69ce:p%40ss:w@rd@[::1]:8443/")
        #expect(full.address == "https://[::1]:8443")
        #expect(full.user == "alice")
        #expect(full.password?.revealed == "p@ss:w@rd")
        #expect("\(full)" == "https://alice:•••@[::1]:8443")

        let socks = try Proxy(parsing: "socks5h://bob@10.0.0.1:1080")
        #expect(socks.scheme == .socks5h)
        #expect(socks.password == nil)
        #expect("\(socks)" == "socks5h://bob@10.0.0.1:1080")
    }

    @Test(
        "What cannot be a proxy is refused with the reason",
        arguments: [
            ("", "no scheme"), ("proxy:3128", "no scheme"),
            ("ftp://u:hunter2@proxy:21", "not known"),
            ("socks5://proxy:1080", "socks5h"), ("socks4://u:hunter2@proxy:1080", "socks5h"),
            ("http://", "no host"), ("http://u:hunter2@:3128", "no host"),
            ("http://u:hunter2@proxy", "no port"), ("http://u:hunter2@proxy:0", "no host"),
            ("http://u:hunter2@proxy:3128/path", "no host"),
            ("http://:hunter2@proxy:3128", "user"), ("http://a%3Ab:hunter2@proxy:3128", "user"),
            ("http://u:hunter2%0D%0A@proxy:3128", "password"),
            ("http://u:hunter2%2@proxy:3128", "password"),
            ("http://u:hunter2%FF@proxy:3128", "password"),
            ("http://u:hunter2\(String(repeating: "x", count: 256))@proxy:3128", "password"),
        ]
    )
    func refused(text: String, reason: String) {
        let error = #expect(throws: ProxyError.self) { try Proxy(parsing: text) }
        #expect(error?.description.contains(reason) == true)
        #expect(error?.description.contains("hunter2") == false)
    }

    @Test("However a proxy is printed, its password is not")
    func secrecy() throws {
        let proxy = try Proxy(parsing: "http://alice:hunter2@proxy:3128")
        var dumped = ""
        dump(proxy, to: &dumped)
        dump([proxy], to: &dumped)
        for text in ["\(proxy)", String(reflecting: proxy), "\([proxy])", dumped] {
            #expect(!text.contains("hunter2"))
        }
    }

    @Test("Another password is another proxy")
    func equality() throws {
        let proxies = try ["a:b@", "a:c@", "a@", ""].map { try Proxy(parsing: "http://\($0)p:1") }
        #expect(Set(proxies).count == 4)
    }
}
