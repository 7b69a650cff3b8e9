import Crypto
import Glibc
import NATS
import Net
import System
import TestSupport
import Testing

/// The client with servers that do not keep to the protocol, are too old, or hang.
@Suite(.timeLimit(.minutes(10))) struct HostileServerTests {
    let recorder = JournalRecorder()

    func settings(_ server: NATSServerAddress) -> NATSSettings { settings([server]) }

    func settings(_ servers: [NATSServerAddress]) -> NATSSettings {
        var settings = NATSSettings(
            servers: servers,
            authentication: .user("gateway", password: Secret("pw-of-test")),
            name: "test"
        )
        settings.connectTimeout = .milliseconds(500)
        settings.silenceMax = .milliseconds(200)
        return settings
    }

    /// The first failure of a client. No secret is in it.
    func failure(_ settings: NATSSettings) throws -> NATSError {
        let client = try NATSClient(settings, journal: recorder.journal)
        var failure: NATSError?
        let isThere = eventually {
            guard case .disconnected(_, let error?) = client.state else { return false }
            failure = error
            return true
        }
        #expect(isThere)
        client.close()
        let error = try #require(failure)
        #expect(!error.description.contains("pw-of-test") && !recorder.text.contains("pw-of-test"))
        return error
    }

    /// A client that is connected.
    func client(_ settings: NATSSettings) throws -> NATSClient {
        let client = try NATSClient(settings, journal: recorder.journal)
        try client.waitUntilConnected(atMost: .seconds(20))
        return client
    }

    @Test(
        "A server that does not begin as a NATS server does",
        arguments: [
            ("HTTP/1.1 400 Bad Request\r\n\r\n", "an operation that the protocol does not have"),
            ("PING\r\n", "does not begin with INFO; is it a NATS server?"),
            ("-ERR 'maximum connections exceeded'\r\n", "does not begin with INFO"),
            ("INFO {\r\n", "the server's INFO is not JSON"),
            ("INFO {}\r\n", "the server's INFO lacks version or max_payload"),
            ("", "the server did not answer in time"),
            ("INFO {", "the server did not answer in time"),
        ]
    )
    func greeting(bytes: String, text: String) throws {
        let server = try FakeServer.saying(bytes)
        let error = try failure(settings(server.address))
        #expect(error.kind == .disconnected)
        #expect(error.description.hasPrefix("\(server.address): "))
        #expect(error.description.contains(text), "\(error)")
    }

    @Test("A server that is too old is refused, and gets no password")
    func version() throws {
        let received = SharedValue<[String]>([])
        let server = try FakeServer.saying(FakeServer.info(version: "2.12.8"), received)
        var settings = settings(server.address)
        settings.minimumVersion = ServerVersion(2, 14, 0)
        #expect(
            try failure(settings)
                == NATSError(
                    .refused,
                    "\(server.address): the server has version 2.12.8; update it to 2.14.0 or newer"
                )
        )
        #expect(received.wait { !$0.isEmpty } && received.now.allSatisfy { $0.isEmpty })
    }

    @Test("A server with a version that cannot be read is refused, and one without headers")
    func unusable() throws {
        let odd = try FakeServer.saying(FakeServer.info(version: "main"))
        var settings = settings(odd.address)
        settings.minimumVersion = ServerVersion(2, 14, 0)
        #expect(
            try failure(settings).description.hasSuffix("the server's version main cannot be read")
        )
        let bare = try FakeServer.saying("INFO {\"version\":\"2.15.1\",\"max_payload\":9}\r\n")
        let error = try failure(self.settings(bare.address))
        #expect(error.kind == .refused && error.description.contains("no_header_support"))
    }

    @Test("Bytes between INFO and TLS are an attack")
    func injection() throws {
        let greeting = FakeServer.info(#","tls_required":true"#)
        let server = try FakeServer.saying(greeting + "PONG\r\n")
        let error = try failure(settings(server.address))
        #expect(error.description.hasSuffix("the server sent more than INFO before TLS"))
    }

    @Test("A tls:// address of a server without TLS gets no password")
    func withoutTLS() throws {
        let received = SharedValue<[String]>([])
        let server = try FakeServer.saying(FakeServer.info(), received)
        let port = server.address.port
        let address = NATSServerAddress(host: "127.0.0.1", port: port, wantsTLS: true)
        #expect(
            try failure(settings(address))
                == NATSError(.refused, "\(address): the server has no TLS; configure its tls block")
        )
        #expect(received.wait { !$0.isEmpty } && received.now.allSatisfy { $0.isEmpty })
    }

    @Test("A server that says it has TLS and has none gets no password")
    func brokenTLS() throws {
        let received = SharedValue<[String]>([])
        let server = try FakeServer { talk in
            talk.send(FakeServer.info(#","tls_required":true"#))
            // A ClientHello, of which the server's answer makes no sense.
            _ = talk.read(until: "\u{3}")
            talk.send("PONG\r\n and no handshake")
            let text = talk.readAll()
            received.change { $0.append(text) }
        }
        let error = try failure(settings(server.address))
        #expect(
            error.kind == .refused && error.description.contains("TLS with 127.0.0.1: "),
            "\(error)"
        )
        #expect(received.wait { !$0.isEmpty } && !received.now.joined().contains("pw-of-test"))
    }

    @Test("A server that ends the connection in the handshake may be used later")
    func cutHandshake() throws {
        let server = try FakeServer { talk in
            talk.send(FakeServer.info(#","tls_required":true"#))
            _ = talk.read(until: "\u{3}")
        }
        let error = try failure(settings(server.address))
        #expect(error.kind == .disconnected, "\(error)")
    }

    @Test("Endless bytes without a line end are given up")
    func endless() throws {
        let server = try FakeServer { talk in
            let bytes = [UInt8](repeating: 0x49, count: 64 << 10)
            while talk.send(bytes) {}
        }
        let error = try failure(settings(server.address))
        #expect(error.description.contains("the server sent a line of more than 65536 bytes"))
    }

    @Test("Endless operations do not keep a client from stopping, nor from its deadline")
    func endlessLogin() throws {
        let server = try FakeServer { talk in
            talk.send(FakeServer.info())
            let bytes = Array(String(repeating: "+OK\r\n", count: 10_000).utf8)
            while talk.send(bytes) {}
        }
        let error = try failure(settings(server.address))
        #expect(error.description.contains("the server did not answer in time"), "\(error)")
    }

    @Test("Endless pings are not answered without bound, and the client goes on and stops")
    func endlessPings() throws {
        let server = try FakeServer { talk in
            guard talk.logIn() else { return }
            let bytes = Array(String(repeating: "PING\r\n", count: 10_000).utf8)
            while talk.send(bytes) {}
        }
        let client = try client(settings(server.address))
        let began = Moment.now
        #expect(throws: NATSError(.timeout, "the server did not answer in time")) {
            try client.request("a", timeout: .milliseconds(300))
        }
        client.close()
        #expect(Moment.now - began < .seconds(5).calibrated())
    }

    @Test("A server that ends each connection after the login is not asked without pause")
    func flapping() throws {
        let servers = try (0..<3).map { _ in try FakeServer { talk in _ = talk.logIn() } }
        let addresses = servers.map(\.address)
        let client = try NATSClient(settings(addresses), journal: recorder.journal)
        let total = { servers.reduce(0) { $0 + $1.connections.now } }
        let began = Moment.now
        #expect(eventually { total() >= 6 })
        // A pause of 50 ms or more comes after three connections.
        #expect(Moment.now - began > .milliseconds(45))
        client.close()
        #expect(recorder.count(of: "broker lost") <= total())
    }

    @Test("A server that stops answering is given up, although requests go on")
    func silence() throws {
        let server = try FakeServer { talk in
            if talk.logIn() { _ = talk.readAll() }
        }
        let client = try client(settings(server.address))
        let began = Moment.now
        let inbox = try client.inbox()
        // The socket takes all of them.
        let isLost = eventually(within: .seconds(10)) {
            let message = OutgoingMessage(to: "a", reply: inbox.subject)
            do throws(NATSError) { try client.send(message, from: inbox) } catch { return true }
            return false
        }
        #expect(isLost)
        let time = Moment.now - began
        #expect(time > .milliseconds(400) && time < .seconds(4).calibrated(), "\(time)")
        #expect(recorder.text.contains("nothing has come from the server for"))
    }

    @Test("A wrong server among three is passed over")
    func oneWrong() throws {
        let wrong = try FakeServer.saying(FakeServer.info(version: "2.9.10"))
        let closed = try FakeServer { _ in }
        let right = try FakeServer { talk in
            if talk.logIn() { _ = talk.readAll() }
        }
        var settings = settings([wrong, closed, right].map(\.address))
        settings.minimumVersion = ServerVersion(2, 14, 0)
        // Servers are asked in a random order.
        for _ in 0..<8 {
            try client(settings).close()
        }
    }

    @Test("Servers that all refuse the client are an error at once, which stays")
    func allWrong() throws {
        let servers = try (0..<3).map { _ in
            try FakeServer { talk in
                talk.send(FakeServer.info())
                _ = talk.read(until: "PING\r\n")
                talk.send("-ERR 'Authorization Violation'\r\n")
            }
        }
        let addresses = servers.map(\.address)
        let client = try NATSClient(settings(addresses), journal: recorder.journal)
        let error = #expect(throws: NATSError.self) {
            try client.waitUntilConnected(atMost: .seconds(20))
        }
        #expect(error?.kind == .refused)
        #expect(
            error?.description.hasSuffix("the server refused the login: Authorization Violation")
                == true
        )
        let total = { servers.reduce(0) { $0 + $1.connections.now } }
        let before = total()
        #expect(eventually { total() >= before + 3 })
        let later = #expect(throws: NATSError.self) { try client.waitUntilConnected(atMost: .zero) }
        #expect(later?.kind == .refused)
        client.close()
        #expect(recorder.count(of: "broker lost") == 2)
        #expect(!recorder.text.contains("pw-of-test"))
    }

    @Test("A connection that is lost fails all who wait, at once")
    func lost() throws {
        let server = try FakeServer { talk in
            guard talk.logIn() else { return }
            // Until all of them have come.
            _ = talk.read(until: "PUB c ")
        }
        let client = try client(settings(server.address))
        let inboxes = try (0..<3).map { _ in try client.inbox() }
        for (inbox, subject) in zip(inboxes, ["a", "b", "c"]) {
            try client.send(OutgoingMessage(to: subject, reply: inbox.subject), from: inbox)
        }
        for inbox in inboxes {
            let error = #expect(throws: NATSError.self) {
                try inbox.next(until: .now + .seconds(20))
            }
            #expect(error?.kind == .disconnected)
            #expect(error?.description == "\(server.address): the server ended the connection")
        }
    }

    private final class Filling {
        let socket: OutboundSocket
        init(_ address: SocketAddress) throws { socket = try OutboundSocket(to: address) }
    }

    @Test("A client that connects to an address that does not answer stops at once")
    func closing() throws {
        // One connection fills the queue of a listener with a backlog of 0.
        let (listener, port) = FakeServer.listen(backlog: 0)
        defer { close(listener) }
        let address = try #require(SocketAddress(host: "127.0.0.1", port: port))
        let (first, second) = (try Filling(address), try Filling(address))
        var settings = settings(NATSServerAddress(host: "127.0.0.1", port: port))
        settings.connectTimeout = .seconds(60)
        let client = try NATSClient(settings, journal: recorder.journal)
        let began = Moment.now
        client.close()
        #expect(Moment.now - began < .seconds(2).calibrated())
        withExtendedLifetime((first, second)) {}
        #expect(throws: NATSError(.disconnected, "the client was closed")) {
            try client.request("a", timeout: .seconds(20))
        }
    }

    @Test("Too many requests are refused, and the place of one that ended is free")
    func inboxes() throws {
        let server = try FakeServer { talk in
            if talk.logIn() { _ = talk.readAll() }
        }
        let client = try client(settings(server.address))
        var inboxes = try (0..<1000).map { _ in try client.inbox() }
        #expect(throws: NATSError(.disconnected, "more than 1000 requests wait for answers")) {
            try client.inbox(subscribes: true)
        }
        inboxes.removeLast()
        inboxes.append(try client.inbox())
    }

    @Test("Answers beyond the bound of one request are an error, even empty ones")
    func answers() throws {
        let server = try FakeServer { talk in
            guard talk.logIn(), let requests = talk.read(until: "last") else { return }
            let words = requests.split { " \r\n".contains($0) }
            let message = Array("MSG \(words[2]) 1 0\r\n\r\n".utf8)
            let many = Array(repeatElement(message, count: 1000).joined())
            for _ in 0..<200 { talk.send(many) }
            talk.send("MSG \(words[6]) 1 0\r\n\r\n")
            _ = talk.readAll()
        }
        let client = try client(settings(server.address))
        let (inbox, other) = (try client.inbox(), try client.inbox())
        try client.send(OutgoingMessage(to: "a", reply: inbox.subject), from: inbox)
        let message = OutgoingMessage(to: "b", reply: other.subject, body: Array("last".utf8))
        try client.send(message, from: other)
        // By then all have arrived.
        _ = try other.next(until: .now + .seconds(20))
        var count = 0
        var last: NATSError?
        do throws(NATSError) {
            while true {
                _ = try inbox.next(until: .now + .seconds(20))
                count += 1
            }
        } catch {
            last = error
        }
        #expect(last?.kind == .malformed && (10_000..<200_000).contains(count), "\(count)")
    }

    @Test("A refused publication fails those who sent to the subject, and nobody else")
    func refusal() throws {
        let server = try FakeServer { talk in
            guard talk.logIn(), talk.read(until: "PUB other ") != nil else { return }
            talk.send("-ERR 'Permissions Violation for Publish to \"wrong\"'\r\n")
            _ = talk.readAll()
        }
        var settings = settings(server.address)
        settings.silenceMax = .seconds(20)
        let client = try client(settings)
        let (wrong, other) = (try client.inbox(), try client.inbox())
        try client.send(OutgoingMessage(to: "wrong", reply: wrong.subject), from: wrong)
        try client.send(OutgoingMessage(to: "other", reply: other.subject), from: other)
        let error = #expect(throws: NATSError.self) { try wrong.next(until: .now + .seconds(20)) }
        #expect(error?.kind == .refused)
        #expect(
            error?.description
                == "the server refused it: Permissions Violation for Publish to \"wrong\""
        )
        #expect(throws: NATSError(.timeout, "the server did not answer in time")) {
            try other.next(until: .now)
        }
    }

    @Test("An error of the server ends the connection, and its text is told")
    func serverError() throws {
        let server = try FakeServer { talk in
            guard talk.logIn() else { return }
            talk.send("-ERR 'Stale Connection'\r\n")
            _ = talk.readAll()
        }
        let error = try failure(settings(server.address))
        #expect(error.description.hasSuffix("the server ended the connection: Stale Connection"))
        #expect(error.kind == .disconnected)
    }
}
