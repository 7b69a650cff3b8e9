import Net
import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(1)))
struct StoppingTests {
    @Test("A stop finishes requests in flight, closes idle connections and accepts no new ones")
    func graceful() throws {
        let server = try TestServer()
        let idle = try server.client()
        idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(idle.answer()?.status == 200)
        let busy = try server.client()
        busy.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        let request = server.held.next()
        let uploading = try server.client()
        uploading.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc")
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
        let client = try server.client()
        client.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
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
