import Configuration
import Queue
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// What ingest sets apart, in the ledger and at the other end.
@Suite(.timeLimit(.minutes(1))) struct UnsoundDeliveryTests {
    private let body = #"[{"__time__":1736843400,"n":1},{"n":2}]"#

    private func arrived(_ trial: SandboxedGateway, _ logstore: String) throws -> String {
        try TestClient(address: trial.sandbox.address).get("/logs?logstore=\(logstore)").text
    }

    @Test("A late log that is dropped is accepted and discarded, and the others arrive")
    func dropped() throws {
        let trial = try SandboxedGateway { $0.destinations[0].intake.lateLogs = .drop }
        #expect(try trial.devices.post("/logs/late", body.utf8).status == 200)
        #expect(trial.delivered(1))
        let ledger = trial.gateway.report.queue.ledger
        #expect(ledger.accepted == 2)
        #expect(ledger.discarded == 1)
        #expect(ledger.isClosed)
        #expect(try arrived(trial, "late").split(separator: "\n").count == 1)
    }

    @Test("A batch of only late logs is answered and counted")
    func onlyLate() throws {
        let trial = try SandboxedGateway { $0.destinations[0].intake.lateLogs = .drop }
        let answer = try trial.devices.post("/logs/late", #"{"__time__":5}"#.utf8)
        #expect(answer.text.contains(#""count":1"#), "\(answer.text)")
        #expect(eventually { trial.gateway.report.queue.ledger.discarded == 1 })
        #expect(trial.gateway.report.queue.ledger.isClosed)
    }

    @Test("A late log becomes a dead letter, and the others arrive")
    func dead() throws {
        let trial = try SandboxedGateway { $0.destinations[0].intake.lateLogs = .deadLetter }
        #expect(try trial.devices.post("/logs/late", body.utf8).status == 200)
        #expect(trial.delivered(1))
        let ledger = trial.gateway.report.queue.ledger
        #expect(ledger.accepted == 2)
        #expect(ledger.dead == 1)
        #expect(ledger.isClosed)
    }

    @Test("SLS accepts a batch after too long values and names were cut")
    func cut() throws {
        let trial = try SandboxedGateway()
        let value = String(repeating: "世", count: 400_000)
        let name = String(repeating: "n", count: 200)
        let body = #"[{"big":"\#(value)"},{"\#(name)":1},{"":2},{"n":3}]"#
        #expect(try trial.devices.post("/logs/big", body.utf8).status == 200)
        #expect(trial.delivered(4))
        let logs = try arrived(trial, "big")
        #expect(logs.contains(#""__truncated__":"big""#))
        #expect(logs.contains(#""__empty__":"2""#))
    }

    @Test("A repeated request is stored once and gets the first receipt")
    func repeated() throws {
        let trial = try SandboxedGateway()
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
