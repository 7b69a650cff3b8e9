import HTTP
import System
import TestSupport
import Testing

/// Answers that break off on request, for those who test clients.
@Suite(.timeLimit(.minutes(1)))
struct BreakingTests {
    @Test("A broken answer sends nothing, or half of its body, and ends the connection")
    func broken() throws {
        let server = try TestServer()
        for path in ["/reset", "/half"] {
            let client = try server.client()
            client.send("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(client.endsUnanswered())
        }
        let client = try server.client()
        client.send("GET /fine HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.status == 200)
    }

    @Test("An answer that is sent later breaks off too")
    func late() throws {
        let server = try TestServer()
        for how in [Response.Break.beforeAnswer, .afterBody(bytes: 1)] {
            let client = try server.client()
            client.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
            var response = Response(status: 200, body: Array("abc".utf8))
            response.breaks = how
            server.held.next().responder.send(response)
            #expect(client.endsUnanswered())
        }
        #expect(server.server.counters[.heldBodies] == 0)
    }
}
