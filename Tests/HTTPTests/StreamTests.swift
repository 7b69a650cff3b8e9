import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Answers whose body comes over time.
@Suite(.timeLimit(.minutes(10)))
struct StreamTests {
    /// A client whose request is answered with a stream; the head has been read.
    func begin(
        _ server: TestServer,
        request: String = get("/later"),
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
        client.send(get("/b"))
        #expect(client.answer()?.text == "/b 0")
    }

    @Test("Requests behind a stream are answered after it")
    func pipelined() throws {
        let server = try TestServer()
        let after = get("/b")
        let (client, stream) = try begin(server, request: get("/later") + after + get("/later"))
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
        let client = try server.client(sending: get("/stream") + get("/stream"))
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
        client.send("HEAD /later HTTP/1.1\r\nHost: a\r\n\r\n" + get("/later"))
        let head = Response(status: 200, body: Array("first".utf8))
        #expect(server.held.next().responder.stream(head) == nil)
        let answer = try #require(client.answer(toHead: true))
        #expect(answer["transfer-encoding"] == "chunked")
        #expect(answer["content-length"] == nil)
        #expect(server.held.next().responder.stream(Response(status: 204)) == nil)
        #expect(client.answer()?.status == 204)
        client.send(get("/b"))
        #expect(client.answer()?.text == "/b 0")
    }

    @Test("A request that is already answered gets no stream")
    func answered() throws {
        let server = try TestServer()
        let client = try server.client(sending: get("/later"))
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

    @Test("Writers on many threads and clients that come and go leave nothing behind")
    func manyWriters() throws {
        let server = try TestServer()
        let wrong = Locked(0)
        let writing = try Worker("writing") { [held = server.held] in
            var workers: [Worker] = []
            for _ in 0..<40 {
                let request = held.next()
                guard let worker = try? Worker("writer", { Self.count(to: 200, for: request) })
                else { continue }
                workers.append(worker)
            }
            for worker in workers { worker.join() }
        }
        let port = server.server.address.port
        let readers = try (0..<4).map { number in
            try Worker("reader") {
                for round in 0..<10 {
                    guard let client = try? TestConnection(port: port) else { continue }
                    client.send(get("/later"))
                    _ = client.answer()
                    let leavesAt = (round + number) % 3 == 0 ? 50 : nil
                    var next = 0
                    while next != leavesAt, let chunk = client.chunk(), !chunk.isEmpty {
                        if chunk != "\(next)" { wrong.withLock { $0 += 1 } }
                        next += 1
                    }
                    if leavesAt == nil, next != 200 { wrong.withLock { $0 += 1 } }
                    if round.isMultiple(of: 2) { client.reset() }
                }
            }
        }
        for reader in readers { reader.join() }
        writing.join()
        #expect(wrong.withLock { $0 } == 0)
        #expect(server.eventually { $0[.openConnections] == 0 })
    }

    private static func count(
        to end: Int,
        for request: (path: String, body: [UInt8], responder: Responder)
    ) {
        guard let stream = request.responder.stream(Response(status: 200)) else { return }
        for number in 0..<end { _ = stream.write(Array("\(number)".utf8)) }
        stream.finish()
    }
}
