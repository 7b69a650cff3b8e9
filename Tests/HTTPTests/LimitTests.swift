import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Each limit has an answer and a counter.
@Suite(.timeLimit(.minutes(10)))
struct LimitTests {
    @Test("The small body of a refused request is dropped, and the connection persists")
    func dropsSmallBody() throws {
        let server = try TestServer()
        let client = try server.client(sending: post("/refused", 5) + "hel")
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
        client.send(post("/refused", size))
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
        let client = try server.client(sending: "POST /small HTTP/1.1\r\nHost: a\r\n" + rest)
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
        let request = get("/")
        var clients: [TestConnection] = []
        for _ in 0..<3 {
            let client = try server.client(sending: request)
            #expect(client.answer()?.status == 200)
            clients.append(client)
        }
        for _ in 0..<5 {
            let refused = try server.client(sending: request)
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
        let next = try server.client(sending: request)
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
        let client = try server.client(sending: start + "Host: a\r\n\r\n")
        #expect(client.answer()?.status == status)
        #expect(client.isEnded())
    }

    @Test(
        "Refused connections give one journal line in ten seconds that names the setting",
        arguments: [(true, "limits.connections_per_address"), (false, "limits.connections")]
    )
    func refusals(perAddress: Bool, setting: String) throws {
        let recorder = JournalRecorder(level: .info)
        let server = try TestServer(journal: recorder.journal) { limits in
            if perAddress { limits.connectionsPerAddress = 1 } else { limits.connections = 1 }
        }
        let first = try server.client(sending: get("/"))
        #expect(first.answer()?.status == 200)
        for _ in 0..<5 { #expect(try server.client().answer()?.status == 503) }
        let written = recorder.lines.now
        #expect(written.count == 1)
        #expect(written.first?.contains(#""level":"warning""#) == true)
        #expect(written.first?.contains(#""refused":1,"limit":1,"setting":"\#(setting)""#) == true)
    }

    @Test("The next line about refused connections counts all since the last line")
    func counts() {
        let recorder = JournalRecorder()
        let notices = RefusalNotices(
            server: "http",
            limits: HTTPServer.Limits(),
            journal: recorder.journal
        )
        let begun = Moment.now
        for second in 0..<25 { notices.refusedFull(at: begun + .seconds(second)) }
        #expect(recorder.lines.now.count == 3)
        #expect(recorder.lines.now.dropFirst().allSatisfy { $0.contains(#""refused":10,"#) })
    }

    @Test(
        "Too few descriptors lower the limit of connections, and warn only if it is configured",
        arguments: [
            (20_000, 4096, 3072, "debug"), (30_000, 4096, 3072, "warning"),
            // Some stay reserved for operators and SLS.
            (20_000, 256, 192, "debug"), (20_000, 64, 16, "debug"), (20_000, 16, 1, "debug"),
            // Enough descriptors give no journal line.
            (30_000, 40_000, 30_000, nil),
        ] as [(Int, Int, Int, String?)]
    )
    func descriptors(wanted: Int, descriptors: Int, possible: Int, level: String?) {
        let recorder = JournalRecorder()
        let journal = recorder.journal
        let count = HTTPServer.connections(within: wanted, descriptors: descriptors, journal)
        #expect(count == possible)
        #expect(recorder.lines.now.count == (level == nil ? 0 : 1))
        guard let level, let line = recorder.lines.now.first else { return }
        #expect(line.contains(#""level":"\#(level)""#) && line.contains("LimitNOFILE"))
    }
}
