import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Many clients that come at once.
@Suite(.timeLimit(.minutes(1)))
struct HandshakeTurnTests {
    @Test("Each round runs a few handshakes; the others wait for the next round")
    func rounds() throws {
        let listener = try Listener(ListenAddress(host: "127.0.0.1", port: 0))
        let clients = try (0..<30).map { _ in try TestConnection(port: listener.address.port) }
        let limits = HTTPServer.Limits()
        let loop = EventLoop(
            port: try LoopPort(
                budgets: Budgets(limits),
                connectionCount: ConnectionCount(limit: 100, perNeighbourhood: 100)
            ),
            acceptor: Acceptor(
                listener: listener,
                tls: try TLSContext(
                    TLSSettings(certificates: [TestCertificates.shared.files("server")])
                ),
                proxies: nil,
                journal: .silent,
                notices: RefusalNotices(server: "a", limits: limits, journal: .silent)
            ),
            limits: limits,
            handler: TestHandler(held: try TestHandler.Held())
        )
        loop.acceptPending()
        var waiting = clients.count
        while waiting > 0 {
            #expect(loop.unfinished.count == waiting)
            loop.runUnfinished()
            waiting = max(0, waiting - EventLoop.handshakesPerRound)
        }
        #expect(loop.unfinished.isEmpty)
        #expect(loop.connections.all.count(where: \.isHandshaking) == clients.count)
    }
}
