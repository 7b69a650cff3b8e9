import System
import TestSupport
import Testing

@testable import HTTP

/// What RFC 9112 says about the life of a connection.
@Suite(.timeLimit(.minutes(10)))
struct ConnectionTests {
    @Test("Pipelined requests are answered in order, also when answers are late")
    func pipelining() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send(
            (0..<3).map {
                "POST /later\($0) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nb\($0)"
            }
            .joined()
        )
        for number in 0..<3 {
            let request = server.held.next()
            #expect(request.path == "/later\(number)")
            #expect(request.body == Array("b\(number)".utf8))
            // One request of a connection is in flight at a time.
            #expect(server.held.count == 0)
            let answering = try Worker("answer") {
                request.responder.send(Response(status: 200, body: request.body))
            }
            answering.join()
            #expect(client.answer()?.text == "b\(number)")
        }
    }

    @Test("A thousand pipelined requests get a thousand answers")
    func manyPipelined() throws {
        let server = try TestServer()
        let client = try server.client()
        let requests = (0..<1000).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined()
        let sending = try Worker("send") { [client = SendableClient(client)] in
            client.client.send(requests)
        }
        for number in 0..<1000 { #expect(client.answer()?.text == "/\(number) 0") }
        sending.join()
    }

    @Test("A client that expects 100 Continue gets it once its head is accepted")
    func continues() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send(
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        )
        #expect(client.answer()?.status == 100)
        client.send("abc")
        #expect(client.answer()?.text == "abc")
        client.send(get("/"))
        #expect(client.answer()?.status == 200)
    }

    @Test("A client that expects 100 Continue and is refused gets its answer without sending")
    func refusesToContinue() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send(
            "POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        )
        let answer = try #require(client.answer())
        #expect(answer.status == 401)
        #expect(answer["connection"] == "close")
        #expect(client.isEnded())
    }

    @Test("100 Continue is omitted when the body has arrived")
    func continueNotNeeded() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send(
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"
        )
        #expect(client.answer()?.text == "abc")
    }

    @Test("HTTP/1.0 ends after the answer unless the client asks to stay")
    func oldVersion() throws {
        let server = try TestServer()
        let staying = try server.client()
        staying.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(staying.answer()?["connection"] == "keep-alive")
        staying.send("GET /b HTTP/1.0\r\n\r\n")
        let last = try #require(staying.answer())
        #expect(last.text == "/b 0")
        #expect(last["connection"] == "close")
        #expect(staying.isEnded())
    }

    @Test(
        "The connection ends when the client or the handler asks for it",
        arguments: ["GET / HTTP/1.1\r\nConnection: close\r\n", "GET /last HTTP/1.1\r\n"]
    )
    func closes(start: String) throws {
        let server = try TestServer()
        let client = try server.client()
        client.send(start + "Host: a\r\n\r\nGET /after HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?["connection"] == "close")
        #expect(client.isEnded())
    }

    @Test("A client that half-closes its connection still gets all answers")
    func halfClosed() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send("GET /now HTTP/1.1\r\nHost: a\r\n\r\nGET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        client.finishWriting()
        #expect(client.answer()?.text == "/now 0")
        server.held.next().responder.send(Response(status: 200, body: Array("late".utf8)))
        #expect(client.answer()?.text == "late")
        #expect(client.isEnded())
        #expect(server.eventually { $0[.openConnections] == 0 })
    }

    @Test(
        "A client that disconnects in the middle of a body leaves nothing behind",
        arguments: [true, false]
    )
    func goesInBody(byReset: Bool) throws {
        let server = try TestServer()
        let client = try server.client(sending: post("/echo", 100_000) + "abc")
        #expect(server.eventually { $0[.heldBodies] > 0 })
        if byReset { client.reset() } else { client.finishWriting() }
        #expect(server.eventually { $0[.openConnections] == 0 && $0[.heldBodies] == 0 })
        #expect(server.server.counters[.broken] == 1)
    }

    @Test(
        "An answer for a closed connection is dropped, and does not reach the next user of its slot"
    )
    func goesBeforeAnswer() throws {
        let server = try TestServer(loops: 1)
        let client = try server.client(sending: post("/later", 3) + "abc")
        let request = server.held.next()
        client.reset()
        #expect(server.eventually { $0[.openConnections] == 0 })
        // The handler still works on the body.
        #expect(server.server.counters[.heldBodies] == 3)
        let next = try server.client(sending: get("/later"))
        let other = server.held.next()
        request.responder.send(Response(status: 500))
        #expect(server.server.counters[.heldBodies] == 0)
        other.responder.send(Response(status: 200, body: Array("mine".utf8)))
        #expect(next.answer()?.text == "mine")
    }

    @Test("A request that its handler forgets is answered with 500")
    func forgotten() throws {
        let server = try TestServer()
        let client = try server.client(sending: get("/forgotten"))
        #expect(client.answer()?.status == 500)
    }

    @Test("A second answer to one request is dropped")
    func answeredTwice() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send("GET /twice HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.text == "first")
        #expect(client.answer()?.text == "/b 0")
    }

    @Test("A value with line ends cannot add a field to the answer")
    func injection() throws {
        let server = try TestServer()
        let client = try server.client(sending: get("/injection"))
        let answer = try #require(client.answer())
        #expect(answer["x-evil"] == nil)
        #expect(answer["x-name"] == "a  x-evil: 1")
        #expect(answer.fields.map { $0.name }.sorted() == ["content-length", "x-name", "x-stamp"])
    }

    @Test("A malformed request is answered and ends the connection")
    func malformed() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = try #require(client.answer())
        #expect(answer.status == 400)
        #expect(answer.text == "Host is missing")
        #expect(answer["connection"] == "close")
        #expect(answer["x-stamp"] == "yes")
        #expect(client.isEnded())
        #expect(server.server.counters[.malformed] == 1)
    }
}

/// The test's own threads take turns on it.
struct SendableClient: @unchecked Sendable {
    let client: TestConnection

    init(_ client: TestConnection) { self.client = client }
}
