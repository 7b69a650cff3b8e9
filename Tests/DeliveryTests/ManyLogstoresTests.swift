import Queue
import SQLiteQueue
import System
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(1))) struct ManyLogstoresTests {
    @Test(
        "A hundred logstores of one destination are delivered, and one that is missing waits alone"
    )
    func hundred() throws {
        let sandbox = try TestSandbox()
        try sandbox.fail(#"{"logstore":"store-42","code":"LogStoreNotExist"}"#)
        let rules = DestinationRules(packet: PacketLimits(logs: 100, age: .milliseconds(5)))
        let bench = try StoredBench(sandbox, rules) {
            $0.retryWaits = Backoff(first: .milliseconds(5), longest: .milliseconds(20))
        }
        try bench.append(0..<400) { "store-\($0 % 100)" }
        let logs = 400 * Samples.logsPerRow
        let ofOne = 4 * Samples.logsPerRow
        let areOthersDelivered = bench.waitUntilDelivered(logs - ofOne)
        #expect(areOthersDelivered)
        let outlets = bench.forwarder.status[0].outlets
        #expect(outlets.count == 100)
        for outlet in outlets where outlet.logstore != "store-42" {
            #expect(outlet.sentLogs == ofOne, "\(outlet.logstore)")
        }
        let missing = outlets.first { $0.logstore == "store-42" }
        #expect(missing?.sentLogs == 0)
        #expect(missing?.lastFailure?.code == "LogStoreNotExist")
        #expect(bench.store.status.ledger.queued == Int64(ofOne))
        try sandbox.wellAgain()
        let areAllDelivered = bench.waitUntilDelivered(logs)
        #expect(areAllDelivered)
        let values = try sandbox.values()
        #expect(values.count == logs && Set(values).count == logs)
        bench.stop()
    }
}
