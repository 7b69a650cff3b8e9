import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

@Suite(.timeLimit(.minutes(10)))
struct FairnessTests {
    private func drain(_ order: inout FairOrder<String>) -> [String] {
        var all: [String] = []
        while let next = order.takeNext() { all.append(next) }
        return all
    }

    @Test("Requests of one neighbourhood keep their order")
    func oneNeighbourhood() throws {
        var order = FairOrder<String>()
        for number in 0..<100 {
            order.add("\(number)", of: try neighbourhood("192.0.2.1"), cost: (number * 37) % 11)
        }
        #expect(drain(&order) == (0..<100).map(String.init))
    }

    @Test("Neighbourhoods take turns, weighed by cost")
    func turns() throws {
        var order = FairOrder<String>()
        let (here, there) = (try neighbourhood("192.0.2.1"), try neighbourhood("192.0.2.2"))
        for number in 0..<3 { order.add("dear \(number)", of: here, cost: 10) }
        for number in 0..<6 { order.add("cheap \(number)", of: there, cost: 5) }
        #expect(
            drain(&order) == [
                "dear 0", "cheap 0", "cheap 1", "dear 1", "cheap 2", "cheap 3", "dear 2", "cheap 4",
                "cheap 5",
            ]
        )
    }

    @Test("A late request does not wait for a backlog")
    func late() throws {
        var order = FairOrder<String>()
        for number in 0..<1000 { order.add("\(number)", of: nil, cost: 100) }
        for number in 0..<10 { #expect(order.takeNext() == "\(number)") }
        order.add("late", of: try neighbourhood("192.0.2.1"), cost: 100)
        let next = [order.takeNext(), order.takeNext()]
        #expect(next.contains("late"))
    }

    @Test("Removed requests are gone, and the rest keeps its order")
    func removal() throws {
        var order = FairOrder<String>()
        for number in 0..<50 {
            let place = try neighbourhood("192.0.2.\(number % 5)")
            order.add("\(number)", of: place, cost: 1 + number % 3)
        }
        var same = order
        let removed = order.removeAll { $0.hasSuffix("7") || $0.hasSuffix("2") }
        #expect(removed.count == 10)
        #expect(order.waitingCount == 40)
        let expected = drain(&same).filter { !removed.contains($0) }
        #expect(drain(&order) == expected)
    }

    @Test("The number of remembered neighbourhoods is bounded")
    func bound() throws {
        var order = FairOrder<Int>()
        order.add(-1, of: nil, cost: 1)
        for number in 0..<40_000 {
            let address = IPAddress("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)")
            order.add(number, of: try #require(address).neighbourhood, cost: 1 << 20)
            if order.waitingCount > 100 { _ = order.takeNext() }
        }
        #expect(order.rememberedCount <= 16_384)
    }

    /// Remembers in which order requests came, and stops its loop at /block until it may go on.
    final class Order: RequestHandler, @unchecked Sendable {
        let paths = Locked<[String]>([])
        let isBlocked: WakeUp
        let mayGoOn: WakeUp
        /// Looks at its loop, on the loop's thread.
        nonisolated(unsafe) var look: () -> Void = {}

        init() throws { (isBlocked, mayGoOn) = (try WakeUp(), try WakeUp()) }

        func admit(_ head: RequestHead) -> Admission { .accept(bodyBytesMax: 1 << 20) }

        func handle(
            _ head: RequestHead,
            _ admitted: Admitted?,
            body: UnsafeRawBufferPointer,
            responder: Responder
        ) {
            let path = head.pathText
            if path == "/block" {
                isBlocked.signal()
                mayGoOn.wait(timeout: .seconds(20))
            }
            paths.withLock { $0.append(path) }
            look()
            responder.send(Response(status: 200))
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

    @Test("Other clients are served between the pipelined requests of one client")
    func pipeliner() throws {
        let order = try Order()
        let server = try HTTPServer(
            HTTPServer.Configuration(
                listen: ListenAddress(host: "127.0.0.1", port: 0),
                loops: 1,
                journal: .silent
            )
        ) { order }
        let clients = try (0..<3).map { _ in try TestConnection(port: server.address.port) }
        for client in clients {
            client.send(get("/first"))
            #expect(client.answer()?.status == 200)
        }
        clients[0].send(get("/block"))
        order.isBlocked.wait(timeout: .seconds(20))
        clients[1].send(String(repeating: get("/many"), count: 1000))
        clients[2].send(get("/one"))
        order.mayGoOn.signal()
        for _ in 0..<1000 { #expect(clients[1].answer()?.status == 200) }
        #expect(clients[2].answer()?.status == 200)
        let paths = order.paths.withLock { $0 }
        let before = try #require(paths.firstIndex(of: "/one")) - 4
        #expect(before <= 64)
        #expect(paths.count == 1005)
    }

    @Test("A client is scheduled once a round, however it sends")
    func oncePerRound() throws {
        let order = try Order()
        let listener = try Listener(ListenAddress(host: "127.0.0.1", port: 0))
        let port = listener.address.port
        let loopPort = try LoopPort.alone()
        let most = Locked(0)
        nonisolated(unsafe) var waiting: Listener? = listener
        let worker = try Worker("loop") {
            guard let listener = waiting.take() else { return }
            let loop = EventLoop(on: listener, port: loopPort, order)
            order.look = { [unowned loop] in
                most.withLock { $0 = max($0, loop.unfinished.count) }
            }
            try? loop.run()
            order.look = {}
        }
        let client = try TestConnection(port: port)
        let sending = try Worker("send") { [client = SendableClient(client)] in
            var rest = Array(String(repeating: get("/a"), count: 40_000).utf8)[...]
            while !rest.isEmpty {
                client.client.send(Array(rest.prefix(9999)))
                rest = rest.dropFirst(9999)
            }
        }
        for _ in 0..<40_000 where client.answer() == nil { Issue.record("no answer") }
        sending.join()
        loopPort.mailbox.post(.stop(by: .now, lastRequests: .now))
        worker.join()
        #expect(most.withLock { $0 } <= 1)
    }
}
