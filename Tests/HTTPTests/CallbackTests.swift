import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(1))) struct CallbackTests {
    @Test("Callbacks on a loop answer its clients, each its own")
    func answers() throws {
        let server = try TestServer(loops: 1)
        let clients = try (0..<3).map { _ in try server.client() }
        var callbacks = GatheredCallbacks()
        for (number, client) in clients.enumerated() {
            client.send("GET /later/\(number) HTTP/1.1\r\nHost: a\r\n\r\n")
            let request = server.held.next()
            let body = Array(request.path.utf8)
            callbacks.add(
                { request.responder.send(Response(status: 200, body: body)) },
                on: request.responder.thread
            )
        }
        callbacks.run()
        for (number, client) in clients.enumerated() {
            #expect(client.answer()?.text == "/later/\(number)")
        }
    }

    @Test("Callbacks after the end of their loop run all the same")
    func afterEnd() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n")
        let request = server.held.next()
        server.server.stop(within: .zero)
        let ran = SharedValue(false)
        var callbacks = GatheredCallbacks()
        callbacks.add(
            {
                request.responder.send(Response(status: 200))
                ran.change { $0 = true }
            },
            on: request.responder.thread
        )
        callbacks.run()
        #expect(ran.wait { $0 })
        #expect(client.endsUnanswered())
    }
}
