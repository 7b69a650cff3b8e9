import System
import TestSupport
import Testing

@testable import HTTP

/// Each limit has an answer and a counter.
@Suite(.timeLimit(.minutes(1)))
struct LimitTests {
    @Test("The small body of a refused request is dropped, and the connection persists")
    func dropsSmallBody() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel")
        let answer = try #require(client.answer())
        #expect(answer.status == 401)
        #expect(answer["connection"] == nil)
        client.send(
            "loPOST /refused HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
        )
        #expect(client.answer()?.status == 401)
        client.send("0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.answer()?.text == "/next 0")
    }

    @Test("The answer to a refused large body can be read before the connection ends")
    func refusesLargeBody() throws {
        let server = try TestServer()
        let client = try server.client()
        let size = 4 << 20
        client.send("POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
        client.send(Array(repeating: 0x61, count: size))
        let answer = try #require(client.answer())
        #expect(answer.status == 401)
        #expect(answer["connection"] == "close")
        #expect(client.isEnded())
    }

    @Test(
        "A body that is larger than allowed is 413",
        arguments: ["Content-Length: 9\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n9\r\n"]
    )
    func tooLarge(rest: String) throws {
        let server = try TestServer()
        let client = try server.client()
        client.send("POST /small HTTP/1.1\r\nHost: a\r\n" + rest)
        let answer = try #require(client.answer())
        #expect(answer.status == 413)
        #expect(answer.text == "the body is larger than 8 bytes")
        #expect(server.server.counters[.tooLarge] == 1)
    }

    @Test("A dropped chunked body that does not end ends the connection")
    func dropsNoLargeChunks() throws {
        let server = try TestServer { $0.droppedBodyBytes = 100 }
        let client = try server.client()
        client.send("POST /refused HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(client.answer()?.status == 401)
        client.send("65\r\n")
        #expect(client.isEnded())
    }

    @Test("A connection above the limit gets 503", arguments: [true, false])
    func connections(perAddress: Bool) throws {
        let server = try TestServer { limits in
            if perAddress { limits.connectionsPerAddress = 3 } else { limits.connections = 3 }
        }
        let request = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
        var clients: [TestConnection] = []
        for _ in 0..<3 {
            let client = try server.client()
            client.send(request)
            #expect(client.answer()?.status == 200)
            clients.append(client)
        }
        for _ in 0..<5 {
            let refused = try server.client()
            refused.send(request)
            #expect(refused.answer()?.status == 503)
            #expect(refused.isEnded())
        }
        let counters = server.server.counters
        #expect(counters[.openConnections] == 3)
        #expect(
            (perAddress ? counters[.refusedPerAddress] : counters[.refusedFull])
                == 5
        )
        clients.removeLast()
        #expect(server.eventually { $0[.openConnections] == 2 })
        let next = try server.client()
        next.send(request)
        #expect(next.answer()?.status == 200)
    }

    @Test(
        "Each limit of a head has its own status",
        arguments: [
            (414, "GET /\(String(repeating: "x", count: 9000)) HTTP/1.1\r\n"),
            (431, "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 17000))\r\n"),
            (431, "GET / HTTP/1.1\r\n" + String(repeating: "X: y\r\n", count: 101)),
        ]
    )
    func heads(status: Int, start: String) throws {
        let server = try TestServer()
        let client = try server.client()
        client.send(start + "Host: a\r\n\r\n")
        #expect(client.answer()?.status == status)
        #expect(client.isEnded())
    }
}
