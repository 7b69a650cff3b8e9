import Net
import Queue
import SLS
import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery

/// In real time against the sandbox: what a quota gives is used, and little is refused.
@Suite(.timeLimit(.minutes(10))) struct SandboxQuotaTests {
    /// A sandbox with a limit, a forwarder, and a backlog that lasts some seconds.
    final class Bench {
        static let seconds = 5

        let source: MemorySource
        let sandbox: SandboxServer
        let forwarder: Forwarder
        let packets: Int
        let perSecond: Double
        private let started = Moment.now

        /// `perSecond` is what the limit lets through, in packets.
        init(limit: String, perSecond: Double) throws {
            let tests = SandboxDeliveryTests()
            sandbox = try tests.sandbox()
            source = MemorySource()
            self.perSecond = perSecond
            packets = Int(perSecond * Double(Self.seconds))
            let client = ControlClient(port: Int(sandbox.address.port))
            let answer = try client.send("POST", "/limits", limit)
            #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
            for number in 1...Int64(packets) { source.offer(number, rows: 1) }
            forwarder = try tests.forwarder(source, sandbox)
        }

        func finish() throws -> QuotaUse {
            let count = packets
            #expect(source.state.wait(.seconds(30)) { $0.acknowledged.count == count })
            let elapsed = (Moment.now - started) / .seconds(1)
            forwarder.stop(within: .seconds(5))
            let refused = forwarder.status[0].failures[.quota, default: 0]
            let others = forwarder.status[0].failures.filter { $0.key != .quota }
            #expect(others.isEmpty)
            sandbox.stop()
            // The bucket is full at first, with one second's worth.
            let given = perSecond * (elapsed + 1)
            return QuotaUse(
                used: Double(count) / given,
                refused: Double(refused) / Double(refused + count)
            )
        }
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let limit: String
        let packetsPerSecond: Double
        var testDescription: String { limit }
    }

    /// What the sandbox counts of a packet of one row: its logs and the tags behind them.
    static func bytesPerPacket() throws -> Int {
        let source = MemorySource()
        source.offer(1, rows: 1)
        return source.state.now.offered[0].rawBytes + 50
    }

    static func cases() throws -> [Case] {
        let bytes = try bytesPerPacket() * 40
        return [
            Case(limit: #"{"logstore":"app-log","requests_per_second":50}"#, packetsPerSecond: 50),
            Case(
                limit: #"{"project":"demo-project","requests_per_second":20}"#,
                packetsPerSecond: 20
            ),
            Case(
                limit: #"{"logstore":"app-log","bytes_per_second":\#(bytes)}"#,
                packetsPerSecond: 40
            ),
        ]
    }

    @Test("The quota of a logstore, of a project or of bytes is used up", arguments: try cases())
    func quotas(example: Case) throws {
        let use = try QuotaUse.good {
            try Bench(limit: example.limit, perSecond: example.packetsPerSecond).finish()
        }
        #expect(use.used > 0.85)
        #expect(use.refused > 0, "the limit was felt")
        #expect(use.refused < 0.10)
    }
}

/// How much of a quota was used in real time, and the part of requests that was refused for it.
struct QuotaUse {
    let used: Double
    let refused: Double

    private var isGood: Bool { used > 0.85 && refused > 0 && refused < 0.10 }

    /// The first good one of three, or the last: on a machine that stands still for a second any
    /// sender wastes what a quota gives meanwhile.
    static func good(_ attempt: () throws -> QuotaUse) rethrows -> QuotaUse {
        for _ in 0..<2 {
            let use = try attempt()
            if use.isGood { return use }
        }
        return try attempt()
    }
}
