import Glibc
import System
import TestSupport
import Testing

@testable import HTTP
@testable import Net

/// Servers on a socket that a service manager keeps open.
@Suite(.timeLimit(.minutes(10)))
struct PassedListenerTests {
    private let kept: Listener
    private let held: TestHandler.Held

    init() throws {
        kept = try Listener(ListenAddress(host: "127.0.0.1", port: 0))
        held = try TestHandler.Held()
    }

    private func server(loops: Int = 2) throws -> HTTPServer {
        var configuration = HTTPServer.Configuration(
            listen: kept.address,
            loops: loops,
            journal: .silent
        )
        configuration.passed = try Listener(passed: dup(kept.descriptor))
        return try HTTPServer(configuration) { [held] in TestHandler(held: held) }
    }

    private func client() throws -> TestConnection {
        try TestConnection(port: kept.address.port)
    }

    private let ask = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test("A client that connects between two servers is served by the second")
    func handsOver() throws {
        let first = try server()
        let early = try client()
        early.send(ask)
        #expect(early.answer()?.status == 200)
        first.stop(within: .seconds(5))
        let waiting = try client()
        waiting.send(ask)
        let second = try server()
        #expect(waiting.answer()?.status == 200)
        #expect(second.isPassed && second.counters[.accepted] == 1)
    }

    @Test("While a server stops, a connection may bring one more request, whose answer ends it")
    func lastRequest() throws {
        let server = try server()
        let client = try client()
        client.send(ask)
        #expect(client.answer()?["connection"] == nil)
        let stop = try Worker("stop") {
            HTTPServer.stop([server], within: .seconds(30), lastRequests: .seconds(30))
        }
        let isTold = eventually {
            client.send(ask)
            let answer = client.answer()
            #expect(answer?.status == 200)
            return answer?["connection"] == "close"
        }
        #expect(isTold)
        #expect(client.answer() == nil)
        stop.join()
    }

    @Test("A connection that brings none is closed when its time is over")
    func noLastRequest() throws {
        let server = try server()
        let client = try client()
        client.send(ask)
        #expect(client.answer()?.status == 200)
        HTTPServer.stop([server], within: .seconds(30), lastRequests: .milliseconds(50))
        #expect(client.answer() == nil)
    }

    @Test("Loops divide the connections of one socket, also those that waited in its backlog")
    func divides() throws {
        let waiting = try (0..<64).map { _ in try client() }
        let server = try server(loops: 4)
        func serves(_ client: TestConnection) {
            client.send(ask)
            #expect(client.answer()?.status == 200)
        }
        waiting.forEach(serves)
        let later = try (0..<64).map { _ in
            let client = try client()
            serves(client)
            return client
        }
        let shares = server.ports.map { $0.counters.counts[.accepted] }
        #expect(shares.reduce(0, +) == 128)
        #expect(shares.allSatisfy { (16...48).contains($0) }, "a loop has too many: \(shares)")
        withExtendedLifetime((waiting, later)) {}
    }
}
