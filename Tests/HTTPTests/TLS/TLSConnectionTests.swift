import COpenSSL
import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// What holds for plain connections holds for encrypted ones.
@Suite(.timeLimit(.minutes(10)))
struct TLSConnectionTests {
    @Test("A connection serves many requests, sequential and pipelined")
    func keptAlive() throws {
        let server = try TestServer.securely()
        let client = try server.secureClient()
        for _ in 0..<3 {
            client.send(get("/a"))
            #expect(client.answer()?.text == "/a 0")
        }
        client.send(String(repeating: get("/a"), count: 1000))
        for _ in 0..<1000 { #expect(client.answer()?.text == "/a 0") }
        #expect(server.server.counters[.handshakes] == 1)
    }

    @Test(
        "Ten mebibytes go in and come out unchanged",
        arguments: [TLS1_2_VERSION, TLS1_3_VERSION]
    )
    func large(version: CInt) throws {
        let server = try TestServer.securely { $0.inFlightBodyBytes = 64 << 20 }
        let client = try server.secureClient(ClientTLS.Options(version: version))
        var random = SeededRandom(seed: 7)
        let body = (0..<(10 << 17)).flatMap { _ in
            withUnsafeBytes(of: random.next()) { Array($0) }
        }
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.count)\r\n\r\n")
        client.send(body)
        #expect(client.answer()?.body == body)
        client.send(get("/a"))
        #expect(client.answer()?.text == "/a 0")
    }

    @Test("A body may come in records of any size")
    func records() throws {
        let server = try TestServer.securely()
        let client = try server.secureClient(sending: post("/echo", 3000))
        for _ in 0..<3000 { client.send([0x61]) }
        #expect(client.answer()?.body.count == 3000)
    }

    @Test("A large answer goes out as fast as the client takes it")
    func slowReader() throws {
        let server = try TestServer.securely()
        let client = try server.slowClient()
        try client.secure()
        client.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n" + get("/a"))
        #expect(client.answer()?.body.count == 4 << 20)
        #expect(client.answer()?.text == "/a 0")
    }

    @Test("A client that does not read its answer is closed after the write timeout")
    func stuckReader() throws {
        let server = try TestServer.securely(loops: 1) { $0.writeTime = .milliseconds(300) }
        let client = try server.slowClient()
        try client.secure()
        let requests = String(repeating: get("/big"), count: 10)
        client.send(requests)
        #expect(server.eventually { $0[.writeTimeouts] == 1 && $0[.openConnections] == 0 })
    }

    @Test(
        "A client that half-closes its connection still gets its answer",
        arguments: [true, false]
    )
    func halfClosed(politely: Bool) throws {
        let server = try TestServer.securely()
        let client = try server.secureClient(sending: get("/later"))
        let request = server.held.next()
        if politely { client.tls?.finish() }
        client.finishWriting()
        #expect(eventually { client.hasPeerEnd })
        request.responder.send(Response(status: 200, body: Array("late".utf8)))
        #expect(client.answer()?.text == "late")
        #expect(client.isEnded())
        #expect(server.eventually { $0[.openConnections] == 0 })
    }

    @Test("The server ends each connection with close_notify", arguments: [true, false])
    func endings(asked: Bool) throws {
        let time = Duration.milliseconds(300).calibrated()
        let server = try TestServer.securely { $0.idleTime = time }
        let client = try server.secureClient()
        client.send("GET \(asked ? "/last" : "/a") HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.status == 200)
        #expect(client.isEnded())
        #expect(client.tls?.isFinishedByServer == true)
    }

    @Test("A client that resets its connection leaves nothing behind")
    func resets() throws {
        let server = try TestServer.securely()
        for text in [
            "", "GET", get("/a"), post("/echo", 9) + "abc",
        ] {
            let client = try server.secureClient(sending: text)
            client.reset()
        }
        #expect(server.eventually { $0[.openConnections] == 0 && $0[.heldBodies] == 0 })
        let client = try server.secureClient(sending: get("/a"))
        #expect(client.answer()?.status == 200)
    }

    @Test("A slow client can read its refusal while it still sends")
    func slowRefusedClient() throws {
        let pause = Duration.milliseconds(300).calibrated()
        let server = try TestServer.securely {
            $0.lingerTime = pause
            $0.lingerTimeMax = .seconds(20)
        }
        let client = try server.secureClient()
        let size = 3 << 20
        client.send(post("/small", size))
        for round in 1...12 {
            client.send(Array(repeating: 0x61, count: size / 12))
            // OpenSSL may hold a record that the server has not asked for.
            #expect(server.eventually { $0[.bytesIn] > size / 12 * round - (32 << 10) })
        }
        #expect(client.answer()?.status == 413)
        #expect(client.isEnded())
    }

    @Test("Bytes that are not TLS end the connection")
    func nonsense() throws {
        let server = try TestServer.securely { $0.lingerTime = .milliseconds(50) }
        let client = try server.secureClient(sending: get("/a"))
        #expect(client.answer()?.status == 200)
        let tls = client.tls
        client.tls = nil
        client.send(get("/a"))
        client.tls = tls
        #expect(client.endsUnanswered())
        #expect(server.eventually { $0[.openConnections] == 0 })
        #expect(server.server.counters.requests == 1)
    }

    @Test("A stream arrives whole over TLS")
    func stream() throws {
        let server = try TestServer.securely()
        let (client, stream) = try StreamTests().begin(server, client: server.secureClient())
        for number in 0..<100 {
            #expect(stream.write(Array("\(number)".utf8)))
            #expect(client.chunk() == "\(number)")
        }
        stream.finish()
        #expect(client.chunk() == "")
        client.send(get("/a"))
        #expect(client.answer()?.text == "/a 0")
    }

    static let authority = TestCertificates.shared.certificate("authority")

    @Test("A refused client that is still sending is not reset")
    func refusedHandshake() throws {
        let server = try TestServer.securely(clients: .required(authorities: Self.authority))
        do {
            let client = try server.secureClient()
            client.send(Array(repeating: 0x61, count: 100 << 10))
            #expect(server.eventually { $0[.failedHandshakes] == 1 })
            client.send(Array(repeating: 0x61, count: 100 << 10))
            #expect(client.endsUnanswered())
            #expect(ClientTLS.lastAlert == SSL_AD_CERTIFICATE_REQUIRED)
            #expect(server.server.counters[.openConnections] == 1)
        }
        #expect(server.eventually { $0[.openConnections] == 0 })
        #expect(server.server.counters[.broken] == 0)
    }

    @Test("A client whose TLS records are unreadable is not reset")
    func brokenRecord() throws {
        let server = try TestServer.securely()
        do {
            let client = try server.secureClient()
            let tls = client.tls
            client.tls = nil
            // A record of application data that nobody sealed, and more behind it.
            client.send([23, 3, 3, 0, 32] + Array(repeating: 0x61, count: 200 << 10))
            client.tls = tls
            #expect(server.eventually { $0[.broken] == 1 })
            #expect(client.endsUnanswered())
            #expect(ClientTLS.lastAlert == SSL_AD_BAD_RECORD_MAC)
            #expect(server.server.counters[.openConnections] == 1)
        }
        #expect(server.eventually { $0[.openConnections] == 0 })
    }

    @Test(
        "A stream to HTTP/1.0 ends with close_notify only if it is complete",
        arguments: ["complete", "dropped", "stopped"]
    )
    func oldStream(end: String) throws {
        let server = try TestServer.securely()
        let client = try server.secureClient(sending: "GET /later HTTP/1.0\r\n\r\n")
        var stream = server.held.next().responder.stream(Response(status: 200))
        #expect(stream?.write(Array("abc".utf8)) == true)
        #expect(client.answer()?.status == 200)
        // What is dropped before it is sent may be lost.
        #expect(client.receives("abc"))
        switch end {
        case "complete": stream?.finish()
        case "dropped": stream = nil
        default: server.server.stop(within: .seconds(20))
        }
        #expect(client.rest() == "abc")
        #expect(client.tls?.isFinishedByServer == (end == "complete"))
    }

    @Test(
        "A request that is cut by FIN without close_notify is not answered",
        arguments: [
            "GET /a HTTP/1.1\r\nHost: a\r\n",
            post("/echo", 4) + "abc",
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        ]
    )
    func cutRequest(text: String) throws {
        let server = try TestServer.securely()
        for politely in [true, false] {
            let client = try server.secureClient(sending: text)
            if politely { client.tls?.finish() }
            client.finishWriting()
            #expect(client.isEnded())
        }
        #expect(server.eventually { $0[.openConnections] == 0 })
        #expect(server.server.counters.requests == 0)
    }
}
