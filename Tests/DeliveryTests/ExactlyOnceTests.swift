import Queue
import SQLiteQueue
import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery

/// With the real queue and a sandbox whose connections break after it has stored what it was sent.
@Suite(.timeLimit(.minutes(1))) struct ExactlyOnceTests {
    static let batches = 200
    static let all = (0..<batches).flatMap { seed in
        (0..<Samples.logsPerRow).map { "value \(seed) \($0)" }
    }

    /// What arrived while connections broke and the gateway started anew thrice.
    func arrived(lanes: Int) throws -> (values: [String], status: DestinationStatus) {
        let sandbox = try TestSandbox { $0.seed = 7 }
        for fault in [
            #"{"reset":true,"store":true,"fraction":0.3}"#,
            #"{"truncate":true,"store":true,"fraction":0.1}"#,
            #"{"without_request_id":true,"fraction":0.1}"#,
            #"{"code":"ServerBusy","fraction":0.1}"#,
        ] {
            try sandbox.fail(fault)
        }
        var rules = DestinationRules(
            packet: PacketLimits(logs: Samples.logsPerRow, age: .milliseconds(5))
        )
        rules.lanes = lanes
        let bench = try StoredBench(sandbox, rules) {
            $0.retryWaits = Backoff(first: .milliseconds(1), longest: .milliseconds(4))
            $0.transport.sendTimeout = .seconds(1)
        }
        let quarter = Self.batches / 4
        for part in 0..<4 {
            try bench.append(part * quarter..<(part + 1) * quarter)
            let isFlowing = bench.waitUntilDelivered(part * quarter * Samples.logsPerRow + 1)
            #expect(isFlowing)
            if part < 3 { try bench.restart() }
        }
        let isDelivered = bench.waitUntilDelivered(Self.all.count)
        #expect(isDelivered)
        #expect(bench.store.status.ledger.isClosed)
        let values = try sandbox.values()
        let status = bench.forwarder.status[0]
        bench.stop()
        return (values, status)
    }

    @Test("With lanes each log arrives once, whatever is cut off")
    func lanes() throws {
        let (values, status) = try arrived(lanes: 4)
        #expect(values.count == Self.all.count)
        #expect(Set(values) == Set(Self.all))
        #expect(status.unknownOutcomes > 0)
        #expect(status.storedBefore > 0)
        #expect(status.relaned == 0)
    }

    @Test("Without lanes none is missing, and some arrive twice")
    func without() throws {
        let (values, status) = try arrived(lanes: 0)
        #expect(values.count > Self.all.count, "or this test could not fail")
        #expect(Set(values) == Set(Self.all))
        #expect(status.storedBefore == 0)
    }
}
