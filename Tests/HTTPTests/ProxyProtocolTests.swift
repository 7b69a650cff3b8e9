import Net
import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(10)))
struct ProxyProtocolTests {
    private static let signature: [UInt8] = [
        0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A,
    ]

    /// Of version 2.
    static func binary(_ command: UInt8, _ family: UInt8, _ rest: [UInt8]) -> [UInt8] {
        signature + [command, family, UInt8(rest.count >> 8), UInt8(rest.count & 0xFF)] + rest
    }

    static let v4: [UInt8] = [192, 0, 2, 7, 127, 0, 0, 1, 0x30, 0x39, 0x1F, 0x90]
    static let v6: [UInt8] =
        [0x20, 0x01, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [7]
        + Array(repeating: 0, count: 16) + [0x30, 0x39, 0x1F, 0x90]

    private static func client(_ text: String, _ port: UInt16) -> ProxyHeader.Client? {
        IPAddress(text).map { ProxyHeader.Client(address: $0, port: port) }
    }

    struct Good: Sendable {
        let bytes: [UInt8]
        let client: ProxyHeader.Client?

        init(_ text: String, _ client: ProxyHeader.Client?) {
            self.init(Array(text.utf8), client)
        }

        init(_ bytes: [UInt8], _ client: ProxyHeader.Client?) {
            self.bytes = bytes
            self.client = client
        }
    }

    static let good = [
        Good("PROXY TCP4 192.0.2.7 127.0.0.1 12345 8080\r\n", client("192.0.2.7", 12345)),
        Good(
            "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n",
            client("255.255.255.255", 65535)
        ),
        Good("PROXY TCP6 2001:db8::7 ::1 0 1\r\n", client("2001:db8::7", 0)),
        Good("PROXY TCP6 ::ffff:192.0.2.7 ::1 5 1\r\n", client("192.0.2.7", 5)),
        Good("PROXY UNKNOWN\r\n", nil),
        Good(
            "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
                + "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n",
            nil
        ),
        Good(binary(0x21, 0x11, v4), client("192.0.2.7", 12345)),
        Good(binary(0x21, 0x11, v4 + [0x03, 0, 4, 1, 2, 3, 4]), client("192.0.2.7", 12345)),
        Good(binary(0x21, 0x21, v6), client("2001:db8::7", 12345)),
        Good(binary(0x21, 0x31, Array(repeating: 0, count: 216)), nil),
        Good(binary(0x21, 0x00, []), nil), Good(binary(0x20, 0x00, []), nil),
        Good(binary(0x20, 0x11, v4), nil), Good(binary(0x20, 0x12, [1]), nil),
        Good(binary(0x21, 0x11, v4 + Array(repeating: 1, count: 508)), client("192.0.2.7", 12345)),
    ]

    private func parse(_ bytes: [UInt8]) throws(ProxyHeaderError) -> ProxyHeader? {
        let result = bytes.withUnsafeBytes { bytes in
            Result { () throws(ProxyHeaderError) in try ProxyHeader.parse(bytes) }
        }
        return try result.get()
    }

    @Test("A complete header is parsed, and the bytes after it stay unread", arguments: good)
    func whole(header: Good) throws {
        for length in 0..<header.bytes.count {
            #expect(try parse(Array(header.bytes[..<length])) == nil, "\(length)")
        }
        let expected = ProxyHeader(length: header.bytes.count, client: header.client)
        #expect(try parse(header.bytes) == expected)
        #expect(try parse(header.bytes + Array("GET / HTTP/1.1\r\n".utf8)) == expected)
    }

    @Test(
        "Bytes that are not a PROXY header are refused at the first wrong byte",
        arguments: [
            "G", "PRI * HTTP/2.0\r\n", "PROXZ", "proxy ", "\u{16}\u{3}\u{1}", "\r\nX", "\0",
            "POST /logs/x HTTP/1.1\r\n",
        ]
    )
    func missing(text: String) {
        #expect(throws: ProxyHeaderError.missing) { try parse(Array(text.utf8)) }
    }

    @Test(
        "A line that is not exactly as it should be is refused",
        arguments: [
            "PROXY \r\n", "PROXY TCP4\r\n", "PROXY TCP5 1.2.3.4 1.2.3.4 1 1\r\n",
            "PROXY tcp4 1.2.3.4 1.2.3.4 1 1\r\n", "PROXY  TCP4 1.2.3.4 1.2.3.4 1 1\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 1 1 \r\n", "PROXY TCP4 1.2.3.4  1.2.3.4 1 1\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 1 1\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 01 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 65536\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3.4 -1 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 99999999\r\n",
            "PROXY TCP4 1.2.3.4 1.2.3 1 1\r\n", "PROXY TCP4 1.2.3.04 1.2.3.4 1 1\r\n",
            "PROXY TCP4 ::1 1.2.3.4 1 1\r\n", "PROXY TCP6 ::1 1.2.3.4 1 1\r\n",
            "PROXY TCP6 1.2.3.4 ::1 1 1\r\n", "PROXY TCP6 [::1] ::1 1 1\r\n",
            "PROXY TCP4 1.2.3.4\0 1.2.3.4 1 1\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 1\rX",
            "PROXY UNKNOWNX\r\n", "PROXY UNKNOWN\r\r\n",
            "PROXY UNKNOWN " + String(repeating: "x", count: 93),
            "PROXY UNKNOWN " + String(repeating: "x", count: 92) + "\r\n",
        ]
    )
    func malformedLine(text: String) {
        let error = #expect(throws: ProxyHeaderError.self) { try parse(Array(text.utf8)) }
        #expect(error != .missing)
    }

    @Test(
        "A binary header that is not exactly as it should be is refused",
        arguments: [
            binary(0x11, 0x11, v4), binary(0x22, 0x11, v4), binary(0x31, 0x11, v4),
            binary(0x21, 0x12, v4), binary(0x21, 0x22, v6), binary(0x21, 0x41, v4),
            binary(0x21, 0x11, Array(v4.dropLast())), binary(0x21, 0x21, Array(v6.dropLast())),
            binary(0x21, 0x31, Array(repeating: 0, count: 215)), binary(0x21, 0x11, []),
            binary(0x21, 0x11, v4 + Array(repeating: 1, count: 509)),
            binary(0x20, 0x00, Array(repeating: 1, count: 521)),
        ]
    )
    func malformedBytes(bytes: [UInt8]) {
        let error = #expect(throws: ProxyHeaderError.self) { try parse(bytes) }
        #expect(error != .missing)
    }

    @Test("For any input, a header is at most as long as the input and the limit")
    func mutations() {
        var random = SeededRandom(seed: 11)
        for _ in 0..<20_000 {
            let seed = Self.good.randomElement(using: &random)!
            let bytes = seed.bytes.mutated(using: &random)
            guard let header = try? parse(bytes) else { continue }
            #expect(header.length <= min(bytes.count, ProxyHeader.bytesMax))
        }
    }

    private static let line = "PROXY TCP4 192.0.2.7 127.0.0.1 12345 8080\r\n"

    private func trust(_ ranges: String..., speaksProxy: Bool = true) throws -> ProxyTrust {
        ProxyTrust(
            .init(ranges: try ranges.map(AddressRange.init(parsing:)), speaksProxy: speaksProxy)
        )
    }

    @Test("The client's address comes from the PROXY header, for all requests of the connection")
    func introduced() throws {
        let server = try TestServer(proxies: try trust("127.0.0.0/8"))
        let twice = Array(String(repeating: get("/peer"), count: 2).utf8)
        for (header, peer) in [
            (Array(Self.line.utf8), "192.0.2.7 12345"),
            (Self.binary(0x21, 0x21, Self.v6), "2001:db8::7 12345"),
        ] {
            let client = try server.client(sending: header + twice)
            #expect(client.answer()?.text == peer)
            #expect(client.answer()?.text == peer)
        }
        #expect(server.server.counters[.proxyHeaders] == 2)
    }

    @Test(
        "A PROXY header without an address makes the proxy the client",
        arguments: [Array("PROXY UNKNOWN\r\n".utf8), Self.binary(0x20, 0, [])]
    )
    func local(header: [UInt8]) throws {
        let server = try TestServer(proxies: try trust("127.0.0.1"))
        let client = try server.client(sending: header + Array(get("/peer").utf8))
        #expect(client.answer()?.text.hasPrefix("127.0.0.1 ") == true)
        client.send(get("/word"))
        #expect(client.answer()?.text == "not believed")
        let other = try server.client(sending: Self.line + get("/word"))
        #expect(other.answer()?.text == "believed")
    }

    @Test("The connection limit of an address counts clients behind any proxy")
    func share() throws {
        let server = try TestServer(proxies: try trust("127.0.0.1", "192.0.2.9")) {
            $0.connectionsPerAddress = 1
        }
        func client(_ header: String) throws -> (client: TestConnection, answer: TestAnswer?) {
            let client = try server.client(sending: header + get("/peer"))
            return (client, client.answer())
        }
        var first = Optional(try client(Self.line))
        #expect(first?.answer?.status == 200)
        let second = try client(Self.line)
        #expect(second.answer?.status == 503)
        #expect(second.answer?.text.contains("your address has reached its limit") == true)
        #expect(second.client.isEnded())
        #expect(server.server.counters[.refusedPerAddress] == 1)
        // Others, and those who stand for many.
        var others: [TestConnection] = []
        for host in ["192.0.2.8", "192.0.2.9", "192.0.2.9"] {
            let other = try client("PROXY TCP4 \(host) 127.0.0.1 1 2\r\n")
            #expect(other.answer?.status == 200)
            others.append(other.client)
        }
        for _ in 0..<2 {
            let local = try client("PROXY UNKNOWN\r\n")
            #expect(local.answer?.status == 200)
            others.append(local.client)
        }
        first = nil
        #expect(server.eventually { $0[.openConnections] == others.count })
        let third = try client(Self.line)
        #expect(third.answer?.status == 200)
        #expect(server.server.counters[.openConnections] == others.count + 1)
    }

    @Test("A PROXY header may arrive in any pieces, with TLS behind it", arguments: [false, true])
    func inParts(isSecure: Bool) throws {
        let proxies = try trust("127.0.0.1")
        let server =
            isSecure ? try TestServer.securely(proxies: proxies) : try TestServer(proxies: proxies)
        let headers = [
            Array(Self.line.utf8), Self.binary(0x21, 0x11, Self.v4),
        ]
        for header in headers {
            let client = try server.client()
            for byte in header { client.send([byte]) }
            if isSecure { try client.secure() }
            client.send(get("/peer"))
            #expect(client.answer()?.text == "192.0.2.7 12345")
        }
    }

    @Test(
        "A missing or malformed PROXY header is refused with the reason",
        arguments: [get("/peer"), "PROXY TCP4 1.2.3.4 1.2.3.4 x 1\r\n" + get("/peer")]
    )
    func wrong(text: String) throws {
        let server = try TestServer(proxies: try trust("127.0.0.1"))
        let client = try server.client(sending: text)
        let answer = try #require(client.answer())
        #expect(answer.status == 503)
        #expect(answer.text.contains("PROXY header"))
        #expect(client.isEnded())
        #expect(server.server.counters[.refusedProxyHeader] == 1)
    }

    @Test("A TLS listener closes a connection with a malformed PROXY header")
    func wrongSecurely() throws {
        let server = try TestServer.securely(proxies: try trust("127.0.0.1"))
        let client = try server.client()
        #expect(throws: TestConnection.NoHandshake.self) { try client.secure() }
        #expect(
            server.eventually { $0[.refusedProxyHeader] == 1 && $0[.openConnections] == 0 }
        )
    }

    @Test("A connection from another address than a proxy's is refused")
    func untrusted() throws {
        let server = try TestServer(proxies: try trust("10.0.0.0/8"))
        for text in [get("/peer"), Self.line + get("/peer")] {
            let client = try server.client(sending: text)
            let answer = try #require(client.answer())
            #expect(answer.status == 503)
            #expect(answer.text.contains("accepts connections from trusted proxies only"))
        }
        #expect(server.server.counters[.refusedNoProxy] == 2)
        #expect(server.server.counters[.accepted] == 0)
    }

    @Test(
        "A silent proxy is closed after the head timeout; one that connects and closes is not counted as broken"
    )
    func silent() throws {
        let server = try TestServer(proxies: try trust("127.0.0.1")) {
            $0.headTime = .milliseconds(50)
        }
        let slow = try server.client(sending: "PROXY TCP4 ")
        #expect(slow.isEnded())
        #expect(
            server.eventually { $0[.headTimeouts] == 1 && $0[.refusedProxyHeader] == 1 }
        )
        let look = try server.client()
        look.finishWriting()
        #expect(look.isEnded())
        #expect(server.eventually { $0[.openConnections] == 0 && $0[.broken] == 0 })
    }

    @Test("Without the PROXY protocol, a PROXY line is a malformed request")
    func notSpoken() throws {
        let server = try TestServer(proxies: try trust("127.0.0.1", speaksProxy: false))
        let client = try server.client(sending: Self.line + get("/peer"))
        #expect(client.answer()?.status == 400)
    }

    @Test(
        "A proxy may have more connections than the limit of one address",
        arguments: [false, true]
    )
    func exempt(isTrusted: Bool) throws {
        let proxies = try trust(isTrusted ? "127.0.0.1" : "10.0.0.1", speaksProxy: false)
        let server = try TestServer(proxies: proxies) { $0.connectionsPerAddress = 1 }
        let first = try server.client(sending: get("/peer"))
        #expect(first.answer()?.status == 200)
        let second = try server.client(sending: get("/peer"))
        #expect(second.answer()?.status == (isTrusted ? 200 : 503))
        #expect(server.server.counters[.refusedPerAddress] == (isTrusted ? 0 : 1))
    }

    @Test("A reload of the proxies applies to the next connection")
    func replaced() throws {
        let proxies = try trust("127.0.0.1")
        let server = try TestServer(proxies: proxies)
        let before = try server.client(sending: Self.line + get("/peer"))
        #expect(before.answer()?.text == "192.0.2.7 12345")
        proxies.replace(.init())
        before.send(get("/peer"))
        #expect(before.answer()?.text == "192.0.2.7 12345")
        let after = try server.client(sending: get("/peer"))
        #expect(after.answer()?.text.hasPrefix("127.0.0.1 ") == true)
    }
}
