import Glibc
import System
import TestSupport
import Testing

@testable import HTTP

/// RFC 9112 sections 4, 8 and 9: answers, what is cut off, and the ends of connections.
@Suite(.timeLimit(.minutes(10)))
struct ClosingTests {
    private static let next = Exchange.next
    private static let nextAnswer = Exchange.nextAnswer

    private static func get(_ connection: String, _ version: String = "HTTP/1.1") -> String {
        "GET /a \(version)|Host: a|\(connection)||"
    }

    private static func kept(_ name: String, _ request: String) -> Exchange {
        Exchange(name, request + next, ["200 /a 0", nextAnswer], .stays)
    }

    private static func closed(_ name: String, _ request: String) -> Exchange {
        Exchange(name, request + next, ["200 /a 0"], .ends)
    }

    static let connectionsCases: [Exchange] = [
        kept("9.3 HTTP/1.1 goes on", get("X: a")),
        kept("9.3 HTTP/1.1 that says so", get("Connection: keep-alive")),
        kept("9.3 other options", get("Connection: x-close, closed, Upgrade")),
        kept("9.3 an option that is empty", get("Connection: ,")),
        closed("9.3 close", get("Connection: close")),
        closed("9.3 close in any case", get("Connection: CLOSE")),
        closed("9.3 close among others", get("Connection: keep-alive , x,\tclose")),
        closed("9.3 close in the second field", get("Connection: keep-alive|Connection: close")),
        closed("9.3 close before keep-alive", get("Connection: close|Connection: keep-alive")),
        closed("9.3 HTTP/1.0 ends", get("X: a", "HTTP/1.0")),
        closed("9.3 HTTP/1.0 with another option", get("Connection: x", "HTTP/1.0")),
        closed("9.3 HTTP/1.0 that says both", get("Connection: close, keep-alive", "HTTP/1.0")),
        kept("9.3 HTTP/1.0 that asks to stay", get("Connection: keep-alive", "HTTP/1.0")),
        Exchange(
            "9.3 close with a body",
            Exchange.post("Connection: close|Content-Length: 3", "abc") + next,
            ["200 /a 3"],
            .ends
        ),
        Exchange(
            "9.3 close with chunks",
            Exchange.post("Connection: close|Transfer-Encoding: chunked", "1|a|0||") + next,
            ["200 /a 1"],
            .ends
        ),
        Exchange(
            "9.3 the handler closes",
            "GET /last HTTP/1.1|Host: a||" + next,
            ["200"],
            .ends
        ),
        Exchange(
            "9.3.2 answers come in the order of requests",
            "GET /1 HTTP/1.1|Host: a||POST /echo HTTP/1.1|Host: a|Content-Length: 1||2"
                + "HEAD /3 HTTP/1.1|Host: a||GET /refused HTTP/1.1|Host: a||" + next,
            ["200 /1 0", "200 2", "HEAD 200 4", "401 who?", nextAnswer],
            .stays
        ),
        Exchange(
            "9.3.2 nothing behind a request that cannot be read",
            get("X: a") + "GET /a HTTP/1.1|Host : a||" + next,
            ["200 /a 0", "400"],
            .ends
        ),
    ]

    @Test(
        "Section 9.3: which connections go on",
        arguments: connectionsCases,
        Exchange.Way.allCases
    )
    func connections(exchange: Exchange, way: Exchange.Way) throws { try exchange.run(way) }

    @Test("9.3: a request after close or after a refusal is never handled")
    func neverRun() throws {
        for first in [
            Self.get("Connection: close"), "GET /a HTTP/1.0||", "GET /a HTTP/1.1||",
            Exchange.post("Transfer-Encoding: gzip, chunked", "0||"),
            Exchange.post("Transfer-Encoding: chunked|Content-Length: 3", "0||"),
            "POST /refused HTTP/1.1|Host: a|Content-Length: 9999999||",
        ] {
            let server = try TestServer()
            let client = try server.client()
            client.send(Exchange.bytes(first + "POST /later HTTP/1.1|Host: a||"))
            #expect(client.answer() != nil)
            #expect(client.isEnded())
            #expect(server.held.count == 0)
            #expect(server.server.counters.requests == 1)
        }
    }

    @Test(
        "8: what ends before it is complete is not a request",
        arguments: [
            "GET", "GET /a HTTP/1.1|", "GET /a HTTP/1.1|Host: a|", "GET /a HTTP/1.1|Host: a|\r",
            Exchange.post("Content-Length: 4", "abc"), Exchange.post("Content-Length: 1"),
            Exchange.post("Transfer-Encoding: chunked"),
            Exchange.post("Transfer-Encoding: chunked", "3|abc"),
            Exchange.post("Transfer-Encoding: chunked", "3|abc|"),
            Exchange.post("Transfer-Encoding: chunked", "3|abc|0|"),
            Exchange.post("Transfer-Encoding: chunked", "3|abc|0|X: y|"),
            Exchange.post("Transfer-Encoding: chunked", "3|abc|0|\r"),
        ]
    )
    func incomplete(text: String) throws {
        let server = try TestServer()
        let client = try server.client(sending: Exchange.bytes(text))
        client.finishWriting()
        #expect(client.isEnded())
        #expect(server.eventually { $0[.openConnections] == 0 && $0[.heldBodies] == 0 })
        #expect(server.server.counters.requests == 0)
        #expect(server.server.counters[.broken] == 1)
    }

    @Test("9.5: an incomplete head gets 408, after the answers before it")
    func timeOut() throws {
        let time = Duration.milliseconds(100).calibrated()
        let server = try TestServer { $0.headTime = time }
        let client = try server.client(sending: Exchange.bytes(Self.next + "GET /a HTTP/1.1|Ho"))
        #expect(client.answer()?.text == "/next 0")
        let answer = try #require(client.answer())
        #expect(answer.status == 408)
        #expect(answer["connection"] == "close")
        client.send(Exchange.bytes("st: a||" + Self.next))
        #expect(client.isEnded())
        #expect(server.server.counters.requests == 2)
    }

    @Test(
        "4: the first line of an answer, to the byte",
        arguments: [
            ("GET /a", "HTTP/1.1 200 OK"), ("GET /refused", "HTTP/1.1 401 Unauthorized"),
            ("GET /empty", "HTTP/1.1 204 No Content"),
            ("GET /unmodified", "HTTP/1.1 304 Not Modified"),
        ]
    )
    func statusLine(request: String, line: String) throws {
        let server = try TestServer()
        let client = try server.client()
        client.send("\(request) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        let text = client.rest()
        #expect(text.hasPrefix("\(line)\r\n"))
        #expect(!text.contains("as it was"))
        #expect(text.contains("content-length") == (line.contains("OK") || line.contains("401")))
    }

    @Test("4: a status without a reason phrase, and 100 Continue")
    func otherLines() throws {
        var bytes: [UInt8] = []
        let handler = TestHandler(held: try TestHandler.Held())
        ResponseWriter().write(Response(status: 299), stampedBy: handler, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix("HTTP/1.1 299 Status\r\n"))
        #expect(
            String(decoding: ResponseWriter.continueResponse, as: UTF8.self)
                == "HTTP/1.1 100 Continue\r\n\r\n"
        )
    }
}
