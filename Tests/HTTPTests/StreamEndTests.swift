import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Streams whose client, server or writer does not stay.
@Suite(.timeLimit(.minutes(10)))
struct StreamEndTests {
    let streams = StreamTests()

    @Test("A writer is told of a client's reset without writing")
    func goneClient() throws {
        let server = try TestServer()
        let (client, stream) = try streams.begin(server)
        let closed = try WakeUp()
        let calls = Locked(0)
        stream.whenClosed {
            calls.withLock { $0 += 1 }
            closed.signal()
        }
        client.reset()
        closed.wait(timeout: .seconds(20))
        #expect(!stream.isOpen)
        #expect(!stream.write([1]))
        #expect(calls.withLock { $0 } == 1)
        #expect(server.server.counters[.openConnections] == 0)
        #expect(server.server.counters[.broken] == 0)
        stream.whenClosed { calls.withLock { $0 += 1 } }
        #expect(calls.withLock { $0 } == 2)
        stream.finish()
    }

    @Test("A client that closes without a reset is noticed at the next writes")
    func closedClient() throws {
        let server = try TestServer()
        var (client, stream): (TestConnection?, ResponseStream) = try streams.begin(server)
        client = nil
        _ = client
        #expect(
            eventually {
                _ = stream.write(Array(":\n\n".utf8))
                return !stream.isOpen
            }
        )
        #expect(server.eventually { $0[.openConnections] == 0 })
    }

    @Test("A slow reader holds only its bound, delays no other client, and gets all written bytes")
    func slowReader() throws {
        let server = try TestServer(loops: 1)
        let slow = try server.slowClient()
        let (client, stream) = try streams.begin(server, client: slow, unsentBytesMax: 20_000)
        let piece = Array(repeating: UInt8(ascii: "x"), count: 10_000)
        #expect(!stream.write(piece + piece + [0]))
        var taken = 0
        var refusals = 0
        // The kernel takes some megabytes first.
        while refusals < 100 {
            if stream.write(piece) {
                taken += piece.count
                refusals = 0
            } else {
                refusals += 1
                usleep(1_000)
            }
        }
        for _ in 0..<3 {
            let other = try server.client(sending: get("/b"))
            #expect(other.answer()?.text == "/b 0")
        }
        #expect(stream.isOpen)
        stream.finish()
        var read = 0
        while let chunk = client.chunk(), !chunk.isEmpty { read += chunk.utf8.count }
        #expect(read == taken)
    }

    @Test(
        "A stream whose client does not read is closed after the write timeout, and its writer is told"
    )
    func stuckReader() throws {
        let server = try TestServer { $0.writeTime = .milliseconds(200) }
        let slow = try server.slowClient()
        let (_, stream) = try streams.begin(server, client: slow)
        let piece = Array(repeating: UInt8(ascii: "x"), count: 50_000)
        #expect(
            eventually {
                while stream.write(piece) {}
                return !stream.isOpen
            }
        )
        #expect(server.server.counters[.writeTimeouts] == 1)
        #expect(server.eventually { $0[.openConnections] == 0 })
    }

    @Test("A cut stream to HTTP/1.0 ends with a reset: without chunks it would look whole")
    func cutWithoutChunks() throws {
        let server = try TestServer()
        let request = "GET /later HTTP/1.0\r\n\r\n"
        var (client, stream): (TestConnection, ResponseStream?) = try streams.begin(
            server,
            request: request
        )
        #expect(stream?.write(Array("one".utf8)) == true)
        #expect(client.receives("one"))
        stream = nil
        _ = client.readToEnd()
        #expect(client.ending == .reset)
    }

    @Test("A stop cuts streams at once, and the client sees a truncated answer")
    func stop() throws {
        let server = try TestServer { $0.lingerTime = .milliseconds(50) }
        let (client, stream) = try streams.begin(server)
        let stuck = try streams.begin(
            server,
            client: server.slowClient()
        )
        let piece = Array(repeating: UInt8(ascii: "x"), count: 50_000)
        for _ in 0..<200 where stuck.stream.write(piece) {}
        client.send(get("/later"))
        #expect(stream.write(Array("last".utf8)))
        let begun = Moment.now
        let stopping = try Worker("stop") { server.server.stop(within: .seconds(20)) }
        #expect(client.chunk() == "last")
        #expect(client.chunk() == nil)
        #expect(!stream.isOpen && !stream.write([1]))
        #expect(eventually { !stuck.stream.isOpen })
        stopping.join()
        #expect(Moment.now - begun < .seconds(10).calibrated())
    }

    @Test("A stream that begins after the stop is closed")
    func afterStop() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send(get("/later"))
        let request = server.held.next()
        server.server.stop(within: .zero)
        let stream = try #require(request.responder.stream(Response(status: 200)))
        #expect(!stream.isOpen)
        let wasCalled = Locked(false)
        stream.whenClosed { wasCalled.withLock { $0 = true } }
        #expect(wasCalled.withLock { $0 })
    }

    @Test("A stream that its writer drops is cut, and its memory is given back")
    func forgotten() throws {
        let server = try TestServer { $0.lingerTime = .milliseconds(50) }
        weak var body: StreamedBody?
        let client: TestConnection
        do {
            let begun = try streams.begin(server)
            client = begun.client
            body = begun.stream.body
            #expect(begun.stream.write(Array("one".utf8)))
        }
        #expect(client.chunk() == "one")
        #expect(client.chunk() == nil)
        #expect(server.eventually { $0[.openConnections] == 0 })
        #expect(eventually { body == nil })
    }
}
