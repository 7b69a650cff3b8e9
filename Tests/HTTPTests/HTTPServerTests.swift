import HTTP
import Net
import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(10)))
struct HTTPServerTests {
    @Test("Requests follow each other on one connection")
    func keepAlive() throws {
        let server = try TestServer()
        let client = try server.client()
        for number in 0..<3 {
            client.send("GET /\(number) HTTP/1.1\r\nHost: a\r\n\r\n")
            let answer = try #require(client.answer())
            #expect(answer.status == 200)
            #expect(answer.text == "/\(number) 0")
            #expect(answer["x-stamp"] == "yes")
            #expect(answer["connection"] == nil)
        }
        #expect(server.server.counters[.accepted] == 1)
    }

    @Test(
        "A body of any size arrives whole",
        arguments: [1, 100, 16 << 10, 65_000, 70_000, 1 << 20, 10 << 20]
    )
    func contentLength(size: Int) throws {
        let server = try TestServer()
        let client = try server.client()
        let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        for _ in 0..<2 {
            client.send(post("/echo", size))
            client.send(body)
            #expect(client.answer()?.body == body)
        }
        #expect(server.server.counters[.heldBodies] == 0)
    }

    @Test("A chunked body arrives decoded", arguments: [1, 7, 1000, 100_000])
    func chunked(chunkSize: Int) throws {
        let server = try TestServer()
        let client = try server.client()
        let body = (0..<min(chunkSize * 100, 3 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        var coded: [UInt8] = []
        var start = 0
        while start < body.count {
            let end = min(start + chunkSize, body.count)
            coded += Array("\(String(end - start, radix: 16));x=y\r\n".utf8)
            coded += body[start..<end]
            coded += Array("\r\n".utf8)
            start = end
        }
        coded += Array("0\r\nX-Trailer: 1\r\n\r\n".utf8)
        for _ in 0..<2 {
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            client.send(coded)
            #expect(client.answer()?.body == body)
        }
        #expect(server.server.counters[.heldBodies] == 0)
    }

    @Test("Callbacks on a loop answer its clients, each its own")
    func answers() throws {
        let server = try TestServer(loops: 1)
        let clients = try (0..<3).map { _ in try server.client() }
        for (number, client) in clients.enumerated() {
            client.send("GET /later/\(number) HTTP/1.1\r\nHost: a\r\n\r\n")
            let request = server.held.next()
            let body = Array(request.path.utf8)
            request.responder.thread?.run {
                request.responder.send(Response(status: 200, body: body))
            }
        }
        for (number, client) in clients.enumerated() {
            #expect(client.answer()?.text == "/later/\(number)")
        }
    }

    @Test("Callbacks after the end of their loop run all the same")
    func afterEnd() throws {
        let server = try TestServer()
        let client = try server.client(sending: get("/later"))
        let request = server.held.next()
        server.server.stop(within: .zero)
        let ran = SharedValue(false)
        request.responder.thread?.run {
            request.responder.send(Response(status: 200))
            ran.change { $0 = true }
        }
        #expect(ran.wait { $0 })
        #expect(client.endsUnanswered())
    }

    @Test("A broken answer sends nothing, or half of its body, and ends the connection")
    func broken() throws {
        let server = try TestServer()
        for path in ["/reset", "/half"] {
            let client = try server.client(sending: get(path))
            #expect(client.endsUnanswered())
        }
        let client = try server.client(sending: get("/fine"))
        #expect(client.answer()?.status == 200)
    }

    @Test("An answer that is sent later breaks off too")
    func late() throws {
        let server = try TestServer()
        for how in [Response.Break.beforeAnswer, .afterBody(bytes: 1)] {
            let client = try server.client(sending: get("/later"))
            var response = Response(status: 200, body: Array("abc".utf8))
            response.breaks = how
            server.held.next().responder.send(response)
            #expect(client.endsUnanswered())
        }
        #expect(server.server.counters[.heldBodies] == 0)
    }

    @Test("A stop finishes requests in flight, closes idle connections and accepts no new ones")
    func graceful() throws {
        let server = try TestServer()
        let idle = try server.client(sending: get("/"))
        #expect(idle.answer()?.status == 200)
        let busy = try server.client(sending: get("/later"))
        let request = server.held.next()
        let uploading = try server.client(sending: post("/echo", 6) + "abc")
        #expect(server.eventually { $0[.heldBodies] == 6 })
        let stopping = try Worker("stop") { server.server.stop(within: .seconds(20)) }
        #expect(idle.isEnded())
        // Each loop closes its own listener.
        #expect(server.eventually { _ in (try? server.client()) == nil })
        uploading.send("def")
        let uploaded = try #require(uploading.answer())
        #expect(uploaded.text == "abcdef")
        #expect(uploaded["connection"] == "close")
        request.responder.send(Response(status: 200, body: Array("done".utf8)))
        let answer = try #require(busy.answer())
        #expect(answer.text == "done")
        #expect(answer["connection"] == "close")
        #expect(busy.isEnded())
        #expect(uploading.isEnded())
        stopping.join()
        #expect(server.server.counters[.openConnections] == 0)
    }

    @Test("A stop cuts unfinished requests at its deadline")
    func deadline() throws {
        let server = try TestServer()
        let client = try server.client(sending: get("/later"))
        let request = server.held.next()
        let begun = Moment.now
        server.server.stop(within: .milliseconds(100))
        #expect(Moment.now - begun >= .milliseconds(100))
        #expect(Moment.now - begun < .seconds(5).calibrated())
        #expect(client.endsUnanswered())
        request.responder.send(Response(status: 200))
        server.server.stop(within: .zero)
    }

    @Test("A port is taken until the stop, and free after it")
    func port() throws {
        let server = try TestServer()
        let address = server.server.address
        let configuration = HTTPServer.Configuration(listen: address, journal: .silent)
        let held = server.held
        #expect(throws: ListenError.taken(address)) {
            _ = try HTTPServer(configuration) { TestHandler(held: held) }
        }
        server.server.stop(within: .seconds(5))
        let next = try HTTPServer(configuration) { TestHandler(held: held) }
        #expect(next.address == address)
    }
}
