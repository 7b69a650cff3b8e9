import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Worker threads run large requests.
@Suite(.timeLimit(.minutes(10)))
struct LargeRequestTests {
    /// Treats bodies of 100 bytes and more as large. Answers with the body's first 99 bytes and its
    /// length; a body that begins with "wait" is answered when the test opens the gate.
    private final class Handler: RequestHandler {
        struct Gate: Sendable {
            let arrived: WakeUp
            let mayGoOn: WakeUp
        }

        let gate: Gate

        init(_ gate: Gate) { self.gate = gate }

        func admit(_ head: RequestHead) -> Admission {
            .accept(bodyBytesMax: 8 << 20, isSecret: head.pathText == "/secret")
        }

        func prepare(
            _ head: RequestHead,
            _ admitted: Admitted?,
            body: UnsafeRawBufferPointer
        ) -> Int? { body.count >= 100 ? body.count : nil }

        func handle(
            _ head: RequestHead,
            _ admitted: Admitted?,
            body: UnsafeRawBufferPointer,
            responder: Responder
        ) {
            if body.starts(with: "wait".utf8) {
                gate.arrived.signal()
                gate.mayGoOn.wait(timeout: .seconds(20))
            }
            let thread = nameOfThisThread()
            let text = "\(String(decoding: body.prefix(99), as: UTF8.self)) \(body.count)"
            responder.send(
                Response(status: 200, fields: [("x-thread", thread)], body: Array(text.utf8))
            )
        }

        private func nameOfThisThread() -> String {
            let file = open("/proc/thread-self/comm", O_RDONLY)
            defer { close(file) }
            var name = [UInt8](repeating: 0, count: 32)
            let count = read(file, &name, name.count)
            return String(decoding: name.prefix(max(0, count - 1)), as: UTF8.self)
        }

        func answer(
            to problem: RequestProblem,
            head: RequestHead?,
            _ admitted: Admitted?
        ) -> Response {
            Response(status: problem.status)
        }

        func stamp(_ fields: inout [UInt8], of response: Response) {}
    }

    private let gate: Handler.Gate
    private let server: HTTPServer

    init() throws { try self.init { _ in } }

    private init(_ adjust: (inout HTTPServer.Limits) -> Void) throws {
        let gate = Handler.Gate(arrived: try WakeUp(), mayGoOn: try WakeUp())
        var configuration = HTTPServer.Configuration(
            listen: ListenAddress(host: "127.0.0.1", port: 0),
            loops: 1,
            journal: .silent
        )
        configuration.largeRequestThreads = 1
        adjust(&configuration.limits)
        server = try HTTPServer(configuration) { Handler(gate) }
        self.gate = gate
    }

    private func client(from host: Int = 1) throws -> TestConnection {
        try TestConnection(port: server.address.port, from: host)
    }

    private func post(_ body: String, to path: String = "/a") -> String {
        "POST \(path) HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    private func text(_ letter: String, _ count: Int) -> String {
        String(repeating: letter, count: count)
    }

    @Test("A large request does not delay other requests of its loop")
    func others() throws {
        let (large, other) = (try client(), try client())
        large.send(post("wait" + text("x", 3 << 20)))
        gate.arrived.wait(timeout: .seconds(20))
        other.send(post("small"))
        let answer = try #require(other.answer())
        #expect(answer.text == "small 5")
        #expect(answer["x-thread"] == "http-0")
        gate.mayGoOn.signal()
        let last = try #require(large.answer())
        #expect(last.text == "wait\(text("x", 95)) \(3 << 20 + 4)")
        #expect(last["x-thread"] == "http-large-0")
        #expect(server.counters[.heldBodies] == 0)
        #expect(server.counters[.largeStarted] == 1)
    }

    @Test("Large and small requests of one connection are answered in order")
    func pipelined() throws {
        let client = try client()
        let sizes = [5, 100, 7, 70_000, 0, 99, 1 << 20, 300]
        let letters = ["a", "b", "c", "d", "e", "f", "g", "h"]
        client.send(zip(letters, sizes).map { post(text($0, $1)) }.joined())
        for (letter, size) in zip(letters, sizes) {
            let answer = try #require(client.answer())
            #expect(answer.text == "\(text(letter, min(size, 99))) \(size)")
            let thread = size < 100 ? "http-0" : "http-large-0"
            #expect(answer["x-thread"] == thread)
        }
    }

    @Test("A chunked body that is large is handed over as one piece")
    func chunked() throws {
        let client = try client()
        client.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<40 { client.send("1000\r\n\(text("y", 4096))\r\n") }
        client.send("0\r\n\r\n" + post("next"))
        #expect(client.answer()?.text == "\(text("y", 99)) \(40 * 4096)")
        #expect(client.answer()?.text == "next 4")
    }

    @Test(
        "Waiting large requests are charged with their heads, and dropped when their clients disconnect"
    )
    func waiting() throws {
        let clients = try (0..<3).map { _ in try client() }
        clients[0].send(post("wait" + text("x", 1000)))
        gate.arrived.wait(timeout: .seconds(20))
        for each in clients.dropFirst() { each.send(post(text("z", 1000))) }
        #expect(eventually { $0[.largeWaiting] == 2 })
        #expect(server.counters[.heldBodies] > 3 * (1004 + 50))
        clients[1].reset()
        #expect(eventually { $0[.openConnections] == 2 })
        gate.mayGoOn.signal()
        #expect(clients[2].answer()?.text == "\(text("z", 99)) 1000")
        #expect(clients[0].answer()?.status == 200)
        #expect(eventually { $0[.heldBodies] == 0 })
        #expect(server.counters[.largeStarted] == 2)
    }

    @Test("A large request runs before the backlog of another address")
    func neighbours() throws {
        let greedy = try (0..<20).map { _ in try client(from: 2) }
        greedy[0].send(post("wait" + text("x", 1000)))
        gate.arrived.wait(timeout: .seconds(20))
        for each in greedy.dropFirst() { each.send(post("wait" + text("x", 1000))) }
        #expect(eventually { $0[.largeWaiting] == 19 })
        let neighbour = try client(from: 3)
        neighbour.send(post(text("n", 1000)))
        #expect(eventually { $0[.largeWaiting] == 20 })
        gate.mayGoOn.signal()
        // At most one more request of the other address runs first.
        gate.arrived.wait(timeout: .seconds(20))
        gate.mayGoOn.signal()
        #expect(neighbour.answer()?.status == 200)
        #expect(server.counters[.largeStarted] <= 4)
        for _ in greedy.dropFirst(2) {
            gate.arrived.wait(timeout: .seconds(20))
            gate.mayGoOn.signal()
        }
        #expect(greedy[19].answer()?.status == 200)
    }

    @Test("Waiting large requests use at most half of the budget, and get 503 beyond it")
    func room() throws {
        let tests = try LargeRequestTests { $0.inFlightBodyBytes = 800 << 10 }
        let first = try tests.client(from: 2)
        first.send(post("wait" + text("x", 1000)))
        tests.gate.arrived.wait(timeout: .seconds(20))
        // 400 KiB may wait, from one address 200.
        let crowd = try (0..<12).map { try tests.client(from: 2 + $0 / 4) }
        for each in crowd { each.send(post(text("y", 60 << 10))) }
        #expect(tests.eventually { $0[.largeWaiting] + $0[.largeRefused] == 12 })
        #expect(tests.server.counters[.largeWaiting] == 6)
        let refused = try #require(crowd[3].answer())
        #expect(refused.status == 503)
        let small = try tests.client(from: 9)
        small.send(post("small"))
        #expect(small.answer()?.text == "small 5")
        // The connection lives on.
        crowd[3].send(post("next"))
        #expect(crowd[3].answer()?.text == "next 4")
        tests.gate.mayGoOn.signal()
        #expect(crowd[0].answer()?.status == 200)
        #expect(tests.eventually { $0[.heldBodies] == 0 && $0[.largeWaiting] == 0 })
    }

    @Test("A body as large as the whole budget is accepted when it is alone")
    func alone() throws {
        let tests = try LargeRequestTests { $0.inFlightBodyBytes = 1 << 20 }
        let client = try tests.client()
        client.send(post(text("x", 900 << 10)))
        #expect(client.answer()?.status == 200)
    }

    @Test("A large request that waited too long gets 503")
    func overdue() throws {
        let tests = try LargeRequestTests { $0.largeWait = .seconds(1) }
        let clients = try (0..<2).map { _ in try tests.client() }
        clients[0].send(post("wait" + text("x", 1000)))
        tests.gate.arrived.wait(timeout: .seconds(20))
        clients[1].send(post(text("y", 1000)))
        #expect(tests.eventually { $0[.largeWaiting] == 1 })
        // Nothing tells that time has passed but time.
        usleep(1_100_000)
        tests.gate.mayGoOn.signal()
        #expect(clients[1].answer()?.status == 503)
        #expect(clients[0].answer()?.status == 200)
        #expect(tests.server.counters[.largeRefused] == 1)
    }

    @Test("A large body that may hold a secret runs on the loop, which wipes it")
    func secret() throws {
        let client = try client()
        client.send(post(text("s", 200), to: "/secret"))
        #expect(client.answer()?["x-thread"] == "http-0")
    }

    @Test("A stop waits for the running large request, and answers it")
    func stop() throws {
        let client = try client()
        client.send(post("wait" + text("x", 1000)))
        gate.arrived.wait(timeout: .seconds(20))
        let (server, gate) = (server, gate)
        let stopped = try Worker("stop") { server.stop(within: .seconds(20)) }
        gate.mayGoOn.signal()
        #expect(client.answer()?.status == 200)
        stopped.join()
    }

    @Test("A stop at its deadline drops the waiting large requests")
    func cutOff() throws {
        let clients = try (0..<2).map { _ in try client() }
        clients[0].send(post("wait" + text("x", 1000)))
        gate.arrived.wait(timeout: .seconds(20))
        clients[1].send(post(text("x", 1000)))
        #expect(eventually { $0[.largeWaiting] == 1 })
        let (server, gate) = (server, gate)
        let stopped = try Worker("stop") { server.stop(within: .zero) }
        #expect(clients[1].isEnded())
        gate.mayGoOn.signal()
        stopped.join()
        #expect(server.counters[.heldBodies] == 0)
    }

    private func eventually(_ condition: (Counts<HTTPCounter>) -> Bool) -> Bool {
        TestSupport.eventually { condition(server.counters) }
    }
}
