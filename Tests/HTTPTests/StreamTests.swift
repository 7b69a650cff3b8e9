import Glibc
import System
import TestSupport
import Testing

@testable import HTTP

/// Answers whose body comes over time.
@Suite(.timeLimit(.minutes(1)))
struct StreamTests {
    static let get = "GET /later HTTP/1.1\r\nHost: a\r\n\r\n"

    /// A client whose request is answered with a stream; the head has been read.
    func begin(
        _ server: TestServer,
        request: String = get,
        client: TestConnection? = nil,
        unsentBytesMax: Int = 256 << 10
    ) throws -> (client: TestConnection, stream: ResponseStream) {
        let client = try client ?? server.client()
        client.send(request)
        let head = Response(status: 200, fields: [("content-type", "text/event-stream")])
        let stream = try #require(
            server.held.next().responder.stream(head, unsentBytesMax: unsentBytesMax)
        )
        let answer = try #require(client.answer())
        #expect(answer.status == 200)
        #expect(answer["content-type"] == "text/event-stream")
        #expect(answer["content-length"] == nil)
        #expect(answer["x-stamp"] == "yes")
        return (client, stream)
    }

    @Test("Pieces reach the client as they are written, and the connection goes on after the last")
    func pieces() throws {
        let server = try TestServer()
        let (client, stream) = try begin(server)
        for piece in ["one", "two", String(repeating: "x", count: 100_000)] {
            #expect(stream.write(Array(piece.utf8)))
            #expect(client.chunk() == piece)
        }
        #expect(stream.write([]))
        #expect(stream.isOpen)
        #expect(server.server.counters[.openConnections] == 1)
        stream.finish()
        #expect(!stream.isOpen)
        #expect(client.chunk() == "")
        #expect(!stream.write([1]))
        client.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.text == "/b 0")
    }

    @Test("Requests behind a stream are answered after it")
    func pipelined() throws {
        let server = try TestServer()
        let after = "GET /b HTTP/1.1\r\nHost: a\r\n\r\n"
        let (client, stream) = try begin(server, request: Self.get + after + Self.get)
        #expect(server.held.count == 0)
        #expect(stream.write(Array("one".utf8)))
        stream.finish()
        #expect(client.chunk() == "one")
        #expect(client.chunk() == "")
        #expect(client.answer()?.text == "/b 0")
        server.held.next().responder.send(Response(status: 204))
        #expect(client.answer()?.status == 204)
    }

    @Test("A handler may write and finish at once, and the head's body comes first")
    func atOnce() throws {
        let server = try TestServer()
        let client = try server.client()
        let get = "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"
        client.send(get + get)
        for _ in 0..<2 {
            #expect(client.answer()?["transfer-encoding"] == "chunked")
            #expect(client.chunk() == "a")
            #expect(client.chunk() == "bc")
            #expect(client.chunk() == "")
        }
    }

    @Test("A stream to HTTP/1.0 ends with the connection")
    func oldVersion() throws {
        let server = try TestServer { $0.lingerTime = .milliseconds(50) }
        let request = "GET /later HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
        let (client, stream) = try begin(server, request: request)
        #expect(stream.write(Array("one".utf8)))
        #expect(stream.write(Array("two".utf8)))
        stream.finish()
        #expect(client.rest() == "onetwo")
        #expect(server.eventually { $0[.openConnections] == 0 })
    }

    @Test("A request with Connection: close ends the connection after its stream")
    func closing() throws {
        let server = try TestServer()
        let request = "GET /later HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        let (client, stream) = try begin(server, request: request)
        #expect(stream.write(Array("one".utf8)))
        stream.finish()
        #expect(client.rest() == "3\r\none\r\n0\r\n\r\n")
    }

    @Test("HEAD and 204 get a head and no stream")
    func headOnly() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send("HEAD /later HTTP/1.1\r\nHost: a\r\n\r\n" + Self.get)
        let head = Response(status: 200, body: Array("first".utf8))
        #expect(server.held.next().responder.stream(head) == nil)
        let answer = try #require(client.answer(toHead: true))
        #expect(answer["transfer-encoding"] == "chunked")
        #expect(answer["content-length"] == nil)
        #expect(server.held.next().responder.stream(Response(status: 204)) == nil)
        #expect(client.answer()?.status == 204)
        client.send("GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.text == "/b 0")
    }

    @Test("A request that is already answered gets no stream")
    func answered() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send(Self.get)
        let responder = server.held.next().responder
        responder.send(Response(status: 200))
        #expect(responder.stream(Response(status: 200)) == nil)
        #expect(client.answer()?["content-length"] == "0")
    }

    @Test("No timer ends a stream without writes")
    func quiet() throws {
        let time = Duration.milliseconds(200).calibrated()
        let server = try TestServer {
            $0.idleTime = time
            $0.headTime = time
            $0.bodyTime = time
            $0.writeTime = time
        }
        let (client, stream) = try begin(server)
        for _ in 0..<3 {
            // Nothing tells that time has passed but time.
            usleep(UInt32(time * 2 / .microseconds(1)))
            #expect(stream.write(Array("still here".utf8)))
            #expect(client.chunk() == "still here")
        }
    }

    @Test("A client that half-closes its connection still gets its stream")
    func halfClosed() throws {
        let server = try TestServer()
        let (client, stream) = try begin(server)
        client.finishWriting()
        #expect(eventually { client.hasPeerEnd })
        for number in 0..<3 {
            #expect(stream.write(Array("\(number)".utf8)))
            #expect(client.chunk() == "\(number)")
        }
        stream.finish()
        #expect(client.chunk() == "")
        #expect(client.isEnded())
    }
}
