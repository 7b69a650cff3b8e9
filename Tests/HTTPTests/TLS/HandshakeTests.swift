import COpenSSL
import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(1)))
struct HandshakeTests {
    static let get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test("TLS 1.2 and 1.3 are spoken", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func versions(version: CInt) throws {
        let server = try TestServer.securely()
        let client = try server.secureClient(ClientTLS.Options(version: version))
        #expect(client.tls?.version == (version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3"))
        #expect(client.tls?.serverNames == ["localhost", "127.0.0.1"])
        client.send(Self.get)
        #expect(client.answer()?.text == "/a 0")
        #expect(server.server.counters[.handshakes] == 1)
    }

    @Test("TLS 1.0 and 1.1 are refused", arguments: [TLS1_VERSION, TLS1_1_VERSION])
    func oldVersions(version: CInt) throws {
        let server = try TestServer.securely()
        #expect(throws: TestConnection.NoHandshake.self) {
            try server.secureClient(ClientTLS.Options(version: version))
        }
        #expect(server.eventually { $0[.failedHandshakes] == 1 && $0[.openConnections] == 0 })
        #expect(server.server.counters.requests == 0)
    }

    @Test("A server that requires TLS 1.3 refuses TLS 1.2")
    func onlyNew() throws {
        let settings = TLSSettings(
            certificates: [TestCertificates.shared.files("server")],
            minimumVersion: .tls13
        )
        let server = try TestServer(tls: TLSContext(settings))
        #expect(throws: TestConnection.NoHandshake.self) {
            try server.secureClient(ClientTLS.Options(version: TLS1_2_VERSION))
        }
        #expect(try server.secureClient().tls?.version == "TLSv1.3")
    }

    @Test(
        "A client gets the certificate for the name that it asks for, the first without any",
        arguments: [
            ("api.example.com", "api.example.com"), ("API.Example.com", "api.example.com"),
            ("www.example.com", "*.example.com"), ("a.b.example.com", "localhost"),
            ("elsewhere.org", "localhost"), ("", "localhost"), (nil, "localhost"),
        ] as [(String?, String)]
    )
    func serverName(asked: String?, got: String) throws {
        let server = try TestServer.securely(["server", "wildcard", "exact"])
        for version in [TLS1_2_VERSION, TLS1_3_VERSION] {
            let options = ClientTLS.Options(serverName: asked, version: version)
            let client = try server.secureClient(options)
            #expect(client.tls?.serverNames.first == got)
        }
    }

    @Test("ALPN chooses HTTP/1.1 if the client offers it, and refuses a client that does not")
    func protocols() throws {
        let server = try TestServer.securely()
        let client = try server.secureClient(ClientTLS.Options(protocols: ["h2", "http/1.1"]))
        #expect(client.tls?.chosenProtocol == "http/1.1")
        #expect(throws: TestConnection.NoHandshake.self) {
            try server.secureClient(ClientTLS.Options(protocols: ["h2", "http/1.0"]))
        }
        client.send(Self.get)
        #expect(client.answer()?.status == 200)
    }

    @Test("A client that sends neither TLS nor HTTP gets no answer")
    func plainly() throws {
        let server = try TestServer.securely { $0.lingerTime = .milliseconds(50) }
        for text in ["SSH-2.0-OpenSSH_9.2\r\n", "\r\n\r\n\r\n\r\n", "nonsense\u{16}"] {
            let client = try server.client()
            client.send(text)
            client.finishWriting()
            let said = client.rest().utf8
            // At most TLS's own alert, which has seven bytes.
            #expect(said.isEmpty || said.count == 7 && said.first == 21)
        }
        #expect(server.eventually { $0[.failedHandshakes] == 3 && $0[.openConnections] == 0 })
        #expect(server.server.counters.requests == 0)
    }

    @Test(
        "A client that does not finish its handshake is closed after the head timeout",
        arguments: [
            "", "\u{16}\u{03}", "\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}\u{00}\u{01}\u{7f}",
        ]
    )
    func slowly(beginning: String) throws {
        let server = try TestServer.securely { $0.headTime = .milliseconds(150) }
        let client = try server.client()
        let begun = Moment.now
        client.send(beginning)
        let dripping = try Worker("drip") { [client = SendableClient(client)] in
            for _ in 0..<100 where server.server.counters[.openConnections] > 0 {
                if beginning.count > 2 { client.client.send([0]) }
                usleep(20_000)
            }
        }
        #expect(client.rest().isEmpty)
        #expect(Moment.now - begun >= .milliseconds(140))
        dripping.join()
        #expect(server.server.counters[.failedHandshakes] == 1)
        #expect(server.server.counters[.openConnections] == 0)
    }

    @Test("Incomplete handshakes delay neither a stop nor other clients")
    func stopping() throws {
        let server = try TestServer.securely(loops: 1)
        let slow = try (0..<50).map { _ in try server.client() }
        for client in slow { client.send("\u{16}\u{03}\u{01}") }
        let client = try server.secureClient()
        client.send(Self.get)
        #expect(client.answer()?.status == 200)
        let begun = Moment.now
        server.server.stop(within: .seconds(20))
        #expect(Moment.now - begun < .seconds(10).calibrated())
        #expect(client.isEnded())
        #expect(slow[0].isEnded())
    }
}
