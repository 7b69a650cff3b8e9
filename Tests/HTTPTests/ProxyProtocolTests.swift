import Net
import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(1))) struct ProxyProtocolTests {
    private static let get = "GET /peer HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let line = "PROXY TCP4 192.0.2.7 127.0.0.1 12345 8080\r\n"

    private func trust(_ ranges: String..., speaksProxy: Bool = true) throws -> ProxyTrust {
        ProxyTrust(
            .init(ranges: try ranges.map(AddressRange.init(parsing:)), speaksProxy: speaksProxy)
        )
    }

    @Test("The client's address comes from the PROXY header, for all requests of the connection")
    func introduced() throws {
        let server = try TestServer(proxies: try trust("127.0.0.0/8"))
        for (header, peer) in [
            (Array(Self.line.utf8), "192.0.2.7 12345"),
            (ProxyHeaderTests.binary(0x21, 0x21, ProxyHeaderTests.v6), "2001:db8::7 12345"),
        ] {
            let client = try server.client()
            client.send(header + Array((Self.get + Self.get).utf8))
            #expect(client.answer()?.text == peer)
            #expect(client.answer()?.text == peer)
        }
        #expect(server.server.counters[.proxyHeaders] == 2)
    }

    @Test(
        "A PROXY header without an address makes the proxy the client",
        arguments: [Array("PROXY UNKNOWN\r\n".utf8), ProxyHeaderTests.binary(0x20, 0, [])]
    )
    func local(header: [UInt8]) throws {
        let server = try TestServer(proxies: try trust("127.0.0.1"))
        let client = try server.client()
        client.send(header + Array(Self.get.utf8))
        #expect(client.answer()?.text.hasPrefix("127.0.0.1 ") == true)
        client.send("GET /word HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.text == "not believed")
        let other = try server.client()
        other.send(Self.line + "GET /word HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(other.answer()?.text == "believed")
    }

    @Test("The connection limit of an address counts clients behind any proxy")
    func share() throws {
        let server = try TestServer(proxies: try trust("127.0.0.1", "192.0.2.9")) {
            $0.connectionsPerAddress = 1
        }
        func client(_ header: String) throws -> (client: TestConnection, answer: TestAnswer?) {
            let client = try server.client()
            client.send(header + Self.get)
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
            Array(Self.line.utf8), ProxyHeaderTests.binary(0x21, 0x11, ProxyHeaderTests.v4),
        ]
        for header in headers {
            let client = try server.client()
            for byte in header { client.send([byte]) }
            if isSecure { try client.secure() }
            client.send(Self.get)
            #expect(client.answer()?.text == "192.0.2.7 12345")
        }
    }

    @Test(
        "A missing or malformed PROXY header is refused with the reason",
        arguments: [get, "PROXY TCP4 1.2.3.4 1.2.3.4 x 1\r\n" + get]
    )
    func wrong(text: String) throws {
        let server = try TestServer(proxies: try trust("127.0.0.1"))
        let client = try server.client()
        client.send(text)
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
        for text in [Self.get, Self.line + Self.get] {
            let client = try server.client()
            client.send(text)
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
        let slow = try server.client()
        slow.send("PROXY TCP4 ")
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
        let client = try server.client()
        client.send(Self.line + Self.get)
        #expect(client.answer()?.status == 400)
    }

    @Test(
        "A proxy may have more connections than the limit of one address",
        arguments: [false, true]
    )
    func exempt(isTrusted: Bool) throws {
        let proxies = try trust(isTrusted ? "127.0.0.1" : "10.0.0.1", speaksProxy: false)
        let server = try TestServer(proxies: proxies) { $0.connectionsPerAddress = 1 }
        let first = try server.client()
        first.send(Self.get)
        #expect(first.answer()?.status == 200)
        let second = try server.client()
        second.send(Self.get)
        #expect(second.answer()?.status == (isTrusted ? 200 : 503))
        #expect(server.server.counters[.refusedPerAddress] == (isTrusted ? 0 : 1))
    }

    @Test("A reload of the proxies applies to the next connection")
    func replaced() throws {
        let proxies = try trust("127.0.0.1")
        let server = try TestServer(proxies: proxies)
        let before = try server.client()
        before.send(Self.line + Self.get)
        #expect(before.answer()?.text == "192.0.2.7 12345")
        proxies.replace(.init())
        before.send(Self.get)
        #expect(before.answer()?.text == "192.0.2.7 12345")
        let after = try server.client()
        after.send(Self.get)
        #expect(after.answer()?.text.hasPrefix("127.0.0.1 ") == true)
    }
}
