import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// What clients make the server hold besides bodies has bounds, too; see `InFlightTests` for those.
@Suite(.timeLimit(.minutes(10)))
struct HeldBytesTests {
    // MARK: - Heads

    private static let halfHead =
        "POST /echo HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 5000))"

    @Test("Incomplete heads are charged, and one without room gets 503")
    func heads() throws {
        let server = try TestServer { $0.heldHeadBytes = 64 << 10 }
        var clients: [TestConnection] = []
        // Blocks of 8 KiB, and half of the bound for one address.
        for number in 1...4 {
            let client = try server.client(sending: Self.halfHead)
            #expect(server.eventually { $0[.heldHeads] == number * 8 << 10 })
            clients.append(client)
        }
        let late = try server.client(sending: Self.halfHead)
        let answer = try #require(late.answer())
        #expect(answer.status == 503)
        #expect(answer["connection"] == "close")
        #expect(server.server.counters[.refusedHeads] == 1)
        clients[0].send("\r\nContent-Length: 3\r\n\r\nabc")
        #expect(clients[0].answer()?.text == "abc")
        #expect(server.eventually { $0[.heldHeads] == 24 << 10 })
        clients.removeAll()
        #expect(server.eventually { $0[.heldHeads] == 0 })
    }

    @Test("A head is charged while its body arrives, and not while its handler works")
    func headOfBody() throws {
        let server = try TestServer()
        let client = try server.client(sending: Self.halfHead + "\r\nContent-Length: 6\r\n\r\nabc")
        #expect(server.eventually { $0[.heldHeads] > 5000 })
        client.send("def")
        #expect(client.answer()?.text == "abcdef")
        #expect(server.eventually { $0[.heldHeads] == 0 })
        client.send(post("/later", 3) + "abc")
        let request = server.held.next()
        #expect(server.server.counters[.heldHeads] == 0)
        request.responder.send(Response(status: 200))
        #expect(client.answer()?.status == 200)
    }

    @Test("Small requests that wait behind another are charged, and dropped without room")
    func waiting() throws {
        let server = try TestServer { $0.heldHeadBytes = 32 << 10 }
        let later = get("/later")
        let small = get("/a")
        let first = try server.client(sending: later + String(repeating: small, count: 500))
        let second = try server.client()
        let held = server.held.next()
        #expect(server.eventually { $0[.heldHeads] == 16 << 10 })
        second.send(later + String(repeating: small, count: 500))
        #expect(server.eventually { $0[.refusedHeads] == 1 })
        server.held.next().responder.send(Response(status: 200))
        #expect(second.answer()?["connection"] == "close")
        held.responder.send(Response(status: 200))
        for _ in 0...500 { #expect(first.answer()?.status == 200) }
        #expect(server.eventually { $0[.heldHeads] == 0 })
    }

    // MARK: - Answers

    @Test("Unsent answers are charged, and a large answer without room becomes 503")
    func answers() throws {
        let server = try TestServer { $0.unsentAnswerBytes = 9 << 19 }
        let slow = try server.slowClient(sending: get("/big"))
        // The kernel takes a part.
        #expect(server.eventually { $0[.heldAnswers] > 1 << 20 })
        let other = try server.client(sending: get("/big"))
        #expect(other.answer()?.status == 503)
        #expect(server.server.counters[.refusedAnswers] == 1)
        other.send(get("/a"))
        #expect(other.answer()?.text == "/a 0")
        #expect(slow.answer()?.body.count == 4 << 20)
        #expect(server.eventually { $0[.heldAnswers] == 0 })
        other.send(get("/big"))
        #expect(other.answer()?.body.count == 4 << 20)
    }

    @Test("Small unsent answers without room end their connection")
    func smallAnswers() throws {
        // Of the last answer the kernel may leave any number of bytes.
        let server = try TestServer { $0.unsentAnswerBytes = 0 }
        let client = try server.slowClient()
        // The answer tells the path.
        let path = String(repeating: "a", count: 4000)
        let requests = Array(
            String(repeating: "GET /\(path) HTTP/1.1\r\nHost: a\r\n\r\n", count: 10).utf8
        )
        #expect(server.eventually { $0[.openConnections] == 1 })
        let sending = try Worker("send") { [client = SendableClient(client)] in
            for _ in 0..<1000 where server.server.counters[.openConnections] > 0 {
                client.client.send(requests)
            }
        }
        #expect(
            server.eventually { $0[.refusedAnswers] == 1 && $0[.openConnections] == 0 },
            "\(server.server.counters)"
        )
        sending.join()
        #expect(server.server.counters[.heldAnswers] == 0)
    }

    @Test("An answer above the limit becomes 500")
    func tooLarge() throws {
        let server = try TestServer { $0.answerBytes = 4 << 20 - 1 }
        let client = try server.client(sending: get("/big"))
        let answer = try #require(client.answer())
        #expect(answer.status == 500)
        #expect(answer.text.contains("4194303"))
        client.send(get("/a"))
        #expect(client.answer()?.text == "/a 0")
    }

    @Test("The largest answer fits into an empty budget of its size, and into no smaller one")
    func largestAnswer() throws {
        let server = try TestServer {
            $0.answerBytes = 4 << 20
            $0.unsentAnswerBytes = $0.largestAnswerBytes
        }
        let client = try server.slowClient(sending: get("/big"))
        #expect(server.eventually { $0[.heldAnswers] > 1 << 20 || $0[.refusedAnswers] > 0 })
        #expect(client.answer()?.body.count == 4 << 20)
        client.send(get("/later"))
        let responder = server.held.next().responder
        let bytes = 4 << 20 + HTTPServer.Limits.answerHeadBytes
        #expect(responder.reserve(answerBytes: bytes, largest: bytes))
        responder.send(Response(status: 200))
        #expect(client.answer()?.status == 200)
        #expect(server.eventually { $0[.heldAnswers] == 0 })
        #expect(server.server.counters[.refusedAnswers] == 0)
    }

    @Test("A reserved answer is sent even when others have filled the budget")
    func reserved() throws {
        let server = try TestServer { $0.unsentAnswerBytes = 9 << 20 }
        let client = try server.slowClient(sending: get("/later"))
        let responder = server.held.next().responder
        #expect(responder.reserve(answerBytes: 6 << 20, largest: 6 << 20))
        #expect(server.server.counters[.heldAnswers] == 6 << 20)
        #expect(!responder.reserve(answerBytes: 6 << 20, largest: 6 << 20))
        let greedy = try server.slowClient(sending: get("/big"))
        #expect(greedy.answer()?.status == 503)
        responder.send(Response(status: 200, body: Array(repeating: 1, count: 6 << 20 - 1000)))
        #expect(client.answer()?.body.count == 6 << 20 - 1000)
        #expect(server.eventually { $0[.heldAnswers] == 0 })
    }

    @Test("Reserved room is freed when the client has gone")
    func reservedByGone() throws {
        let server = try TestServer()
        do {
            let client = try server.client(sending: get("/later"))
            let responder = server.held.next().responder
            #expect(responder.reserve(answerBytes: 1 << 20, largest: 1 << 20))
            #expect(responder.hold(1 << 20))
            client.reset()
            #expect(server.eventually { $0[.openConnections] == 0 })
            #expect(server.server.counters[.heldBodies] == 1 << 20)
            responder.send(Response(status: 200))
        }
        #expect(server.eventually { $0[.heldAnswers] == 0 && $0[.heldBodies] == 0 })
    }

    @Test("Data made from a body is charged until the answer, and a single request always has room")
    func held() throws {
        let server = try TestServer { $0.inFlightBodyBytes = 1 << 20 }
        let first = try server.client(sending: post("/later", 3) + "abc")
        let one = server.held.next().responder
        #expect(one.hold(16 << 20))
        #expect(server.server.counters[.heldBodies] == 1 << 20)
        one.send(Response(status: 200))
        #expect(first.answer()?.status == 200)
        first.send(get("/later"))
        let two = server.held.next().responder
        #expect(two.hold(400 << 10))
        let second = try server.client(sending: get("/later"))
        let three = server.held.next().responder
        #expect(!three.hold(200 << 10))
        #expect(server.server.counters[.refusedBodies] == 1)
        two.send(Response(status: 200))
        #expect(three.hold(200 << 10))
        three.send(Response(status: 200))
        #expect(second.answer()?.status == 200)
        #expect(server.server.counters[.heldBodies] == 0)
    }

    @Test("Unsent stream bytes are charged, and a write without room fails")
    func streams() throws {
        let server = try TestServer { $0.unsentAnswerBytes = 128 << 10 }
        let slow = try server.slowClient()
        let (client, stream) = try StreamTests().begin(server, client: slow)
        let piece = Array(repeating: UInt8(ascii: "x"), count: 10_000)
        var refusals = 0
        // The kernel takes some megabytes first.
        while refusals < 100 {
            if stream.write(piece) {
                refusals = 0
            } else {
                refusals += 1
                usleep(1_000)
            }
        }
        let held = server.server.counters[.heldAnswers]
        #expect(held > 32 << 10 && held <= 64 << 10, "half of the bound, and not the stream's own")
        stream.finish()
        while let chunk = client.chunk(), !chunk.isEmpty {}
        #expect(server.eventually { $0[.heldAnswers] == 0 })
    }

    // MARK: - The pace of readers

    @Test("A client that takes its answer below the required rate is closed")
    func dripping() throws {
        let server = try TestServer {
            $0.writeTime = .milliseconds(300)
            $0.answerRateMin = 1 << 20
        }
        let client = try server.slowClient(sending: get("/big"))
        let reading = try Worker("read") { [client = SendableClient(client)] in
            var bytes = [UInt8](repeating: 0, count: 2048)
            for _ in 0..<500 where server.server.counters[.writeTimeouts] == 0 {
                _ = recv(client.client.descriptor, &bytes, bytes.count, 0)
                usleep(20_000)
            }
        }
        #expect(server.eventually { $0[.writeTimeouts] == 1 && $0[.openConnections] == 0 })
        reading.join()
        #expect(server.server.counters[.heldAnswers] == 0)
    }

    @Test("A client that takes its answer at the required rate gets all of it")
    func steady() throws {
        let pause = Duration.milliseconds(300).calibrated()
        let server = try TestServer {
            $0.writeTime = pause
            $0.answerRateMin = 100 << 10
        }
        let client = try server.slowClient(sending: get("/big"))
        var bytes = [UInt8](repeating: 0, count: 32 << 10)
        var count = 0
        while count < 4 << 20 {
            let read = recv(client.descriptor, &bytes, bytes.count, 0)
            try #require(read > 0, "ended after \(count) bytes")
            count += read
            usleep(5_000)
        }
        #expect(server.server.counters[.writeTimeouts] == 0)
    }
}
