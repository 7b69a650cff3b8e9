import COpenSSL
import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(10)))
struct TimeoutTests {
    /// Nothing tells that time has passed but time.
    private func pass(_ time: Duration) { usleep(UInt32(time / .microseconds(1))) }

    @Test("A head that arrives too slowly gets 408")
    func slowHead() throws {
        let server = try TestServer { $0.headTime = .milliseconds(150) }
        let client = try server.client()
        let begun = Moment.now
        let dripping = try Worker("drip") { [client = SendableClient(client)] in
            for byte in "GET / HTTP/1.1\r\nX: ".utf8 {
                client.client.send([byte])
                usleep(20_000)
            }
        }
        #expect(client.answer()?.status == 408)
        #expect(Moment.now - begun >= .milliseconds(150))
        dripping.join()
        #expect(client.isEnded())
        #expect(server.server.counters[.headTimeouts] == 1)
    }

    @Test("A body that stops gets 408")
    func stalledBody() throws {
        let server = try TestServer { $0.bodyTime = .milliseconds(100) }
        let client = try server.client(sending: post("/echo", 100) + "abc")
        #expect(client.answer()?.status == 408)
        #expect(client.isEnded())
        #expect(server.server.counters[.bodyTimeouts] == 1)
        #expect(server.server.counters[.heldBodies] == 0)
    }

    @Test("A body without enough progress in an interval gets 408")
    func drippingBody() throws {
        let server = try TestServer {
            $0.bodyTime = .milliseconds(150)
            $0.bodyProgressBytes = 1000
        }
        let client = try server.client(sending: post("/echo", 100_000))
        let dripping = try Worker("drip") { [client = SendableClient(client)] in
            for _ in 0..<15 {
                client.client.send([0x61])
                usleep(20_000)
            }
        }
        #expect(client.answer()?.status == 408)
        dripping.join()
    }

    @Test(
        "A body below the average rate gets 408",
        arguments: [
            "Content-Length: 16000000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nf42400\r\n",
        ]
    )
    func slowBody(rest: String) throws {
        let server = try TestServer {
            $0.bodyTime = .milliseconds(200)
            $0.bodyProgressBytes = 10
            $0.bodyRateMin = 10_000
        }
        let client = try server.client(sending: "POST /echo HTTP/1.1\r\nHost: a\r\n" + rest)
        let begun = Moment.now
        let dripping = try Worker("drip") { [client = SendableClient(client)] in
            // Half the rate that it must have, for longer than it may.
            for _ in 0..<400 where server.server.counters[.bodyTimeouts] == 0 {
                client.client.send(Array(repeating: 0x61, count: 100))
                usleep(20_000)
            }
        }
        #expect(client.answer()?.status == 408)
        let time = Moment.now - begun
        #expect(time >= .milliseconds(200) && time < .seconds(6).calibrated())
        dripping.join()
        #expect(server.server.counters[.bodyTimeouts] == 1)
        #expect(server.eventually { $0[.heldBodies] == 0 })
    }

    @Test("A body that makes progress may take longer than one interval")
    func steadyBody() throws {
        let interval = Duration.milliseconds(600).calibrated()
        let server = try TestServer {
            $0.bodyTime = interval
            $0.bodyProgressBytes = 1000
        }
        let client = try server.client(sending: post("/echo", 10_000))
        for _ in 0..<10 {
            client.send(Array(repeating: 0x61, count: 1000))
            pass(interval / 6)
        }
        #expect(client.answer()?.body.count == 10000)
    }

    @Test("An idle connection is closed without an answer", arguments: [true, false])
    func idle(afterRequest: Bool) throws {
        let time = Duration.milliseconds(300).calibrated()
        let server = try TestServer { $0.idleTime = time }
        let client = try server.client()
        if afterRequest {
            client.send(get("/"))
            #expect(client.answer()?.status == 200)
        }
        #expect(client.isEnded())
        #expect(server.eventually { $0[.idleTimeouts] == 1 && $0[.openConnections] == 0 })
    }

    @Test("A connection whose request waits for its handler is not idle")
    func waitingIsNotIdle() throws {
        let time = Duration.milliseconds(300).calibrated()
        let server = try TestServer {
            $0.idleTime = time
            $0.headTime = time
            $0.bodyTime = time
        }
        let client = try server.client(sending: get("/later"))
        let request = server.held.next()
        pass(time * 2)
        request.responder.send(Response(status: 200))
        #expect(client.answer()?.status == 200)
    }

    @Test(
        "A client that does not read its answer is not read from, and is closed after the write timeout"
    )
    func backPressure() throws {
        let server = try TestServer(loops: 1) { $0.writeTime = .milliseconds(300) }
        let client = try server.slowClient()
        let requests = String(repeating: get("/big"), count: 100)
        client.send(requests)
        #expect(server.eventually { $0[.writeTimeouts] == 1 && $0[.openConnections] == 0 })
        // One answer fills the connection; the next request is read only when it has gone.
        #expect(server.server.counters.requests <= 2)
    }

    @Test("A large answer goes out as fast as the client takes it")
    func slowReader() throws {
        let server = try TestServer()
        let client = try server.slowClient()
        client.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\nGET /after HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.body.count == 4 << 20)
        #expect(client.answer()?.text == "/after 0")
    }

    @Test("A slow client can read its refusal while it still sends")
    func slowRefusedClient() throws {
        let pause = Duration.milliseconds(400).calibrated()
        let server = try TestServer {
            $0.lingerTime = pause
            $0.lingerTimeMax = .seconds(20)
        }
        let client = try server.client()
        let size = 3 << 20
        client.send(post("/small", size))
        for _ in 0..<48 {
            client.send(Array(repeating: 0x61, count: size / 48))
            usleep(20_000)
        }
        #expect(server.eventually { $0[.bytesIn] > size })
        #expect(client.answer()?.status == 413)
        #expect(client.isEnded())
    }

    @Test("A refused client that keeps sending is closed")
    func lingeringInAll() throws {
        let server = try TestServer {
            $0.lingerTime = .seconds(10)
            $0.lingerTimeMax = .milliseconds(300)
        }
        let client = try server.client(sending: "nonsense\n")
        #expect(client.answer()?.status == 400)
        let dripping = try Worker("drip") { [client = SendableClient(client)] in
            for _ in 0..<100 where server.server.counters[.openConnections] > 0 {
                client.client.send([0x61])
                usleep(20_000)
            }
        }
        dripping.join()
        #expect(server.server.counters[.openConnections] == 0)
    }

    @Test("An empty line after a body begins no request", arguments: [["\r\n"], ["\r", "\n"]])
    func emptyLine(pieces: [String]) throws {
        let time = Duration.milliseconds(100).calibrated()
        let server = try TestServer { $0.headTime = time }
        let client = try server.client(sending: post("/a", 3) + "abc")
        #expect(client.answer()?.text == "/a 3")
        for piece in pieces {
            client.send(piece)
            usleep(30_000)
        }
        pass(time * 2)
        #expect(server.server.counters[.headTimeouts] == 0)
        client.send(get("/b"))
        #expect(client.answer()?.text == "/b 0")
    }

    @Test("A second empty line in a row is malformed")
    func emptyLines() throws {
        let server = try TestServer()
        let client = try server.client(sending: "\r\n")
        #expect(server.eventually { $0[.bytesIn] == 2 })
        client.send("\r\n")
        #expect(client.answer()?.status == 400)
    }

    @Test("A refused client that stops sending is closed")
    func lingering() throws {
        let server = try TestServer { $0.lingerTime = .milliseconds(100) }
        let client = try server.client(sending: "nonsense\n")
        #expect(client.answer()?.status == 400)
        #expect(server.eventually { $0[.openConnections] == 0 })
    }

    // MARK: - Each phase has its whole time, also right after another of the same kind

    /// One phase takes most of it, and two phases more than it.
    private let timeout = Duration.seconds(3).calibrated()

    @Test("A head that arrives with the end of the handshake gets a whole head timeout")
    func headAfterHandshake() throws {
        let server = try TestServer.securely { $0.headTime = timeout }
        let client = try server.client()
        pass(timeout * 0.6)
        // The last bytes of the handshake and the first of the head leave together.
        client.cork(true)
        try client.secure()
        client.send("GET /a HTTP/1.1\r\n")
        client.cork(false)
        pass(timeout * 0.57)
        client.send("Host: a\r\n\r\n")
        #expect(client.answer()?.status == 200)
    }

    @Test("A body that arrives with the end of a dropped one gets a whole body timeout")
    func bodyAfterDroppedBody() throws {
        let server = try TestServer { $0.bodyTime = timeout }
        let client = try server.client(sending: post("/refused", 4) + "ab")
        #expect(client.answer()?.status == 401)
        pass(timeout * 0.6)
        client.send("cdPOST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nef")
        pass(timeout * 0.57)
        client.send("gh")
        #expect(client.answer()?.text == "efgh")
    }
}
