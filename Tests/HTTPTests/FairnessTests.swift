import Glibc
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Clients of one loop share its time.
@Suite(.timeLimit(.minutes(1)))
struct FairnessTests {
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

    private static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost:a\r\n\r\n" }

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
            client.send(Self.get("/first"))
            #expect(client.answer()?.status == 200)
        }
        clients[0].send(Self.get("/block"))
        order.isBlocked.wait(timeout: .seconds(20))
        clients[1].send(String(repeating: Self.get("/many"), count: 1000))
        clients[2].send(Self.get("/one"))
        order.mayGoOn.signal()
        for _ in 0..<1000 { #expect(clients[1].answer()?.status == 200) }
        #expect(clients[2].answer()?.status == 200)
        let paths = order.paths.withLock { $0 }
        let before = try #require(paths.firstIndex(of: "/one")) - 4
        #expect(before <= 64)
        #expect(paths.count == 1005)
    }

    @Test("A client is scheduled once a round, however it sends")
    func turns() throws {
        let order = try Order()
        let address = ListenAddress(host: "127.0.0.1", port: 0)
        let listener = try Listener(address)
        let port = listener.address.port
        let loopPort = try LoopPort(
            budgets: Budgets(HTTPServer.Limits()),
            connectionCount: ConnectionCount(limit: 100, perNeighbourhood: 100)
        )
        let most = Locked(0)
        nonisolated(unsafe) var waiting: Listener? = listener
        let worker = try Worker("loop") {
            guard let listener = waiting.take() else { return }
            let limits = HTTPServer.Limits()
            let loop = EventLoop(
                port: loopPort,
                acceptor: Acceptor(
                    listener: listener,
                    tls: nil,
                    proxies: nil,
                    journal: .silent,
                    notices: RefusalNotices(server: "a", limits: limits, journal: .silent)
                ),
                limits: limits,
                handler: order
            )
            order.look = { [unowned loop] in
                most.withLock { $0 = max($0, loop.unfinished.count) }
            }
            try? loop.run()
            order.look = {}
        }
        let client = try TestConnection(port: port)
        let sending = try Worker("send") { [client = SendableClient(client)] in
            var rest = Array(String(repeating: Self.get("/a"), count: 40_000).utf8)[...]
            while !rest.isEmpty {
                client.client.send(Array(rest.prefix(9999)))
                rest = rest.dropFirst(9999)
            }
        }
        for _ in 0..<40_000 where client.answer() == nil { Issue.record("no answer") }
        sending.join()
        loopPort.mailbox.post(.stop(by: .now))
        worker.join()
        #expect(most.withLock { $0 } <= 1)
    }
}
