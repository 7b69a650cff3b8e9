import Queue
import System
import Testing

@testable import Gateway

/// What ingest sets apart, in the ledger and at the other end.
@Suite(.timeLimit(.minutes(1))) struct UnsoundDeliveryTests {
    private func arrived(_ trial: TryOut, _ logstore: String) throws -> String {
        try Client(address: trial.sandbox.address).get("/logs?logstore=\(logstore)").text
    }

    @Test("SLS takes a batch with values and names that were too long")
    func cut() throws {
        let trial = try TryOut()
        let value = String(repeating: "世", count: 400_000)
        let name = String(repeating: "n", count: 200)
        let body = #"[{"big":"\#(value)"},{"\#(name)":1},{"":2},{"n":3}]"#
        #expect(try trial.devices.post("/logs/big", body.utf8).status == 200)
        #expect(trial.delivered(4))
        let logs = try arrived(trial, "big")
        #expect(logs.contains(#""__truncated__":"big""#))
        #expect(logs.contains(#""__empty__":"2""#))
    }

    @Test("A request that comes again is stored once, and answered with the first receipt")
    func repeated() throws {
        let trial = try TryOut()
        let key = ["idempotency-key": "0b7a"] as KeyValuePairs
        let first = try trial.devices.post("/logs/once", #"[{"n":1},{"n":2}]"#.utf8, key)
        let again = try trial.devices.post("/logs/once", #"[{"n":1},{"n":2}]"#.utf8, key)
        #expect(first.status == 200)
        #expect(first.body == again.body)
        #expect(first["x-log-requestid"] == again["x-log-requestid"])

        let packet = #"{"__logs__":[{"k":"1"}],"__tags__":{"__pack_id__":"ABC-1"}}"#
        let path = "/logstores/once/track"
        let receipts = try (0..<3)
            .map { _ in try trial.devices.post(path, packet.utf8)["x-log-requestid"] }
        #expect(Set(receipts).count == 1)
        #expect(trial.delivered(3))
        #expect(trial.gateway.report.queue.ledger.accepted == 3)
        #expect(
            try trial.admin("/metrics").text.contains(
                #"sluice_ingest_repeated_total{route="track"} 2"#
            )
        )
    }
}
