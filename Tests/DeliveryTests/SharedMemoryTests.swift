import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// Many destinations whose endpoints hang, and one that is well.
@Suite(.timeLimit(.minutes(1))) struct SharedMemoryTests {
    private static let hanging = (1...12).map { "hanging-\($0)" }
    private static let memoryMax = 3 << 20

    /// About 64 KiB, which no compression makes smaller here.
    private static let logs = (0..<640).map {
        Samples.log("\($0) \(String(repeating: "x", count: 84))")
    }

    @Test("They hold no more in memory than the bound, and the healthy one delivers meanwhile")
    func bound() throws {
        let source = try MemorySource()
        let turnstile = Turnstile(behind: .max)
        // Endpoints of their own: one that destinations share bounds their requests before the
        // memory does.
        let stuck = try Self.hanging.map { _ in
            try ScriptedServer { _, _ in
                turnstile.pass()
                return .stored
            }
        }
        let well = try ScriptedServer()
        let ports = stuck.map(\.port) + [well.port]
        let settings = try zip(Self.hanging + ["well"], ports).map { name, port in
            var settings = try Samples.destination(port: port, name: name, compression: .none)
            settings.transport.sendTimeout = .seconds(60)
            return settings
        }
        let forwarder = try Forwarder(
            settings,
            source: source,
            credentials: { _ in Samples.credential },
            journal: .silent,
            memoryMax: Self.memoryMax
        )
        try forwarder.start()
        var number: Int64 = 0
        func offer(_ count: Int, to destination: String) {
            for _ in 0..<count {
                number += 1
                source.offer(number, logs: Self.logs, to: destination, logstore: "s\(number % 3)")
            }
        }
        func held() -> Int { forwarder.status.reduce(0) { $0 + $1.memoryBytes } }
        for destination in Self.hanging { offer(8, to: destination) }
        // Each has its part, and some would have more.
        #expect(
            eventually {
                let hanging = forwarder.status.dropLast()
                return hanging.allSatisfy { $0.inFlight > 0 }
                    && hanging.contains { $0.memoryWaits > 0 }
            }
        )
        #expect(held() <= Self.memoryMax)
        let bodies = stuck.flatMap(\.requests.now).reduce(0) { $0 + $1.body.count }
        #expect(bodies <= Self.memoryMax, "\(bodies) bytes are under way")

        offer(20, to: "well")
        #expect(eventually { forwarder.status.last?.sentPackets == 20 })
        #expect(held() <= Self.memoryMax)
        turnstile.open()
        #expect(source.state.wait { $0.unsettled.isEmpty })
        #expect(eventually { held() == 0 })
        forwarder.stop(within: .seconds(5))
        for server in stuck { server.stop() }
        well.stop()
        #expect(stuck.reduce(0) { $0 + $1.requests.now.count } == 8 * Self.hanging.count)
    }
}
