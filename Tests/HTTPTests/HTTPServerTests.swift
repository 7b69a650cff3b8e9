import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(1)))
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
            client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
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
}
