import COpenSSL
import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(10)))
struct HandshakeTests {
    @Test("TLS 1.2 and 1.3 are spoken", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func versions(version: CInt) throws {
        let server = try TestServer.securely()
        let client = try server.secureClient(ClientTLS.Options(version: version))
        #expect(client.tls?.version == (version == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3"))
        #expect(client.tls?.serverNames == ["localhost", "127.0.0.1"])
        client.send(get("/a"))
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
        client.send(get("/a"))
        #expect(client.answer()?.status == 200)
    }

    @Test("A client that sends neither TLS nor HTTP gets no answer")
    func plainly() throws {
        let server = try TestServer.securely { $0.lingerTime = .milliseconds(50) }
        for text in ["SSH-2.0-OpenSSH_9.2\r\n", "\r\n\r\n\r\n\r\n", "nonsense\u{16}"] {
            let client = try server.client(sending: text)
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
        let client = try server.secureClient(sending: get("/a"))
        #expect(client.answer()?.status == 200)
        let begun = Moment.now
        server.server.stop(within: .seconds(20))
        #expect(Moment.now - begun < .seconds(10).calibrated())
        #expect(client.isEnded())
        #expect(slow[0].isEnded())
    }

    @Test("Each round runs a few handshakes; the others wait for the next round")
    func rounds() throws {
        let listener = try Listener(ListenAddress(host: "127.0.0.1", port: 0))
        let clients = try (0..<30).map { _ in try TestConnection(port: listener.address.port) }
        let settings = TLSSettings(certificates: [Self.files.files("server")])
        let handler = TestHandler(held: try TestHandler.Held())
        let tls = try TLSContext(settings)
        let loop = EventLoop(on: listener, port: try .alone(), tls: tls, handler)
        loop.acceptPending()
        var waiting = clients.count
        while waiting > 0 {
            #expect(loop.unfinished.count == waiting)
            loop.runUnfinished()
            waiting = max(0, waiting - EventLoop.handshakesPerRound)
        }
        #expect(loop.unfinished.isEmpty)
        #expect(loop.connections.all.count(where: \.isHandshaking) == clients.count)
    }

    @Test("A few TLS messages after the handshake are accepted; a flood ends the connection")
    func keyUpdates() throws {
        let server = try TestServer.securely(loops: 1) { $0.lingerTime = .milliseconds(50) }
        for (count, answer) in [(10, "/a 0"), (20_000, nil)] as [(Int, String?)] {
            let client = try server.secureClient()
            let tls = try #require(client.tls)
            let flood = tls.records(client.descriptor, bytesMax: count * 40) {
                for _ in 0..<count {
                    SSL_key_update(tls.tls, SSL_KEY_UPDATE_NOT_REQUESTED)
                    SSL_do_handshake(tls.tls)
                }
            }
            #expect(flood.count > count * 20)
            client.tls = nil
            client.send(flood)
            client.tls = tls
            client.send(get("/a"))
            #expect(client.answer()?.text == answer)
        }
        #expect(server.eventually { $0[.openConnections] == 0 && $0[.broken] == 1 })
        #expect(server.server.counters.requests == 1)
    }

    static let files = TestCertificates.shared

    private func server(_ recorder: JournalRecorder) throws -> TestServer {
        let settings = TLSSettings(
            certificates: [Self.files.files("server")],
            clientCertificates: .required(authorities: Self.files.certificate("authority"))
        )
        return try TestServer(tls: TLSContext(settings), journal: recorder.journal)
    }

    @Test("Failed handshakes give one journal line in ten seconds, with the last reason")
    func failures() throws {
        let recorder = JournalRecorder(level: .info)
        let server = try server(recorder)
        for _ in 0..<5 {
            let client = try server.client()
            _ = try? client.secure(ClientTLS.Options(certificate: "wrong-client"))
            #expect(client.rest().isEmpty)
        }
        #expect(server.eventually { $0[.failedHandshakes] == 5 })
        #expect(recorder.lines.now.count == 1)
        let line = try #require(recorder.lines.now.first)
        #expect(line.contains(#""level":"warning""#))
        #expect(line.contains(#""failed":1,"last_peer":"127.0.0.1","last_reason":"#))
        #expect(line.contains("certificate verify failed"))
    }

    @Test("A connection that closes without a byte gives no journal line")
    func probes() throws {
        let recorder = JournalRecorder(level: .info)
        let server = try server(recorder)
        for _ in 0..<3 { try server.client().finishWriting() }
        #expect(server.eventually { $0[.failedHandshakes] == 3 })
        #expect(recorder.lines.now.isEmpty)
    }

    @Test("A client that sends plain HTTP is told to use https", arguments: ["GET", "POST"])
    func plainHTTP(method: String) throws {
        let server = try server(JournalRecorder(level: .info))
        let client = try server.client()
        client.send("\(method) /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
        let answer = try #require(client.answer())
        #expect(answer.status == 400)
        #expect(answer.text.contains("TLS") && answer.text.contains("https"))
        #expect(answer["connection"] == "close")
        #expect(client.isEnded())
        #expect(server.server.counters[.failedHandshakes] == 1)
        #expect(server.server.counters[.malformed] == 1)
    }
}
