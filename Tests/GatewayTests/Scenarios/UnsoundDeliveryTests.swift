import Delivery
import Queue
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Operations

/// What ingest sets apart, in the ledger and at the other end.
@Suite(.timeLimit(.minutes(10))) struct UnsoundDeliveryTests {
    private let body = #"[{"__time__":1736843400,"n":1},{"n":2}]"#

    @Test("A late log that is dropped is accepted and discarded, and the others arrive")
    func dropped() throws {
        let trial = try SandboxedGateway { $0.destinations[0].intake.lateLogs = .drop }
        #expect(try trial.devices.post("/logs/late", body.utf8).status == 200)
        #expect(trial.delivered(1))
        let ledger = trial.gateway.report.queue.ledger
        #expect(ledger.accepted == 2)
        #expect(ledger.discarded == 1)
        #expect(ledger.isClosed)
        #expect(try trial.arrived(in: "late").split(separator: "\n").count == 1)
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
        let logs = try trial.arrived(in: "big")
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

/// A gateway whose host has a wrong clock, so that SLS takes none of the times that it gives.
@Suite(.timeLimit(.minutes(10))) struct HostClockTests {
    @Test("Logs without a time wait until the clock is set, and status and metrics show it")
    func waiting() throws {
        let trial = try SandboxedGateway()
        try trial.sandbox.fail(#"{"clock_offset_s":-3600}"#)
        for number in 0..<5 {
            let body = #"{"n":"\#(number)-a"}"# + "\n" + #"{"n":"\#(number)-b"}"#
            #expect(try trial.devices.post("/logs/clock", body.utf8).status == 200)
        }
        #expect(eventually { trial.gateway.report.destinations[0].delivery.awaitingClock > 0 })
        let status = try trial.admin("/admin/status").text
        #expect(status.contains(#""awaiting_clock":"#), "\(status)")
        #expect(status.contains("the clock of this host is 3"), "\(status)")
        #expect(status.contains("set it (NTP)"), "\(status)")
        let metrics = try trial.admin("/metrics").text
        #expect(metrics.contains(#"sluice_delivery_awaiting_clock{destination="default"}"#))
        #expect(trial.gateway.report.queue.ledger.dead == 0)

        try trial.sandbox.recover()
        #expect(trial.delivered(10))
        #expect(eventually { trial.gateway.report.destinations[0].delivery.awaitingClock == 0 })
        #expect(trial.gateway.report.queue.ledger.dead == 0)
        #expect(trial.gateway.report.queue.ledger.isClosed)
    }
}

/// The ends of what `packet.bytes` may be, all the way to the sandbox, which has SLS's own limit.
@Suite(.timeLimit(.minutes(10))) struct PacketSizeTests {
    private static let keys = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "LTAI-0123456789", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "hush",
    ]

    @Test("With the SDKs' minimum packet size each log has its own packet, and all arrive")
    func least() throws {
        let trial = try SandboxedGateway { $0.destinations[0].transfer.packet.rawBytes = 1 }
        for batch in 0..<5 {
            let body = (0..<4).map { #"{"n":"\#(batch)-\#($0)"}"# }.joined(separator: "\n")
            #expect(try trial.devices.post("/logs/small", body.utf8).status == 200)
        }
        #expect(trial.delivered(20))
        let report = trial.gateway.report
        #expect(report.destinations[0].delivery.sentPackets == 20)
        #expect(report.destinations[0].delivery.failures.isEmpty)
        #expect(report.queue.ledger.isClosed)
    }

    @Test("With SLS's maximum packet size the trailer fits into the packet, and SLS refuses none")
    func largest() throws {
        let trial = try SandboxedGateway {
            $0.destinations[0].transfer.packet.rawBytes = 10 << 20
            $0.destinations[0].transfer.packet.age = .seconds(3600)
            $0.destinations[0].labels.tags = [
                .init(key: "env", value: String(repeating: "e", count: 1000))
            ]
        }
        let value = String(repeating: "v", count: 200_000)
        for number in 0..<60 {
            let body = #"{"n":"\#(number)","v":"\#(value)"}"#
            #expect(try trial.devices.post("/logs/large", body.utf8).status == 200)
        }
        #expect(trial.delivered(50))
        let delivery = trial.gateway.report.destinations[0].delivery
        #expect(delivery.sentPackets == 1)
        #expect(delivery.sentRawBytes > 10_000_000)
        #expect(delivery.failures.isEmpty)
    }

    @Test("A packet's trailer counts towards SLS's limit")
    func ending() throws {
        func bytes(_ bytes: Int, _ tags: [Destination.Labels.Tag] = []) throws -> Int {
            var destination = try read(minimal, Self.keys).destinations[0]
            destination.transfer.packet.rawBytes = bytes
            destination.labels.tags = tags
            return destination.packetLimits.rawBytes
        }
        #expect(try bytes(1) == 1)
        #expect(try bytes(5 << 20) == 5 << 20)
        let most = try bytes(10 << 20)
        #expect(most < 10 << 20 && most > 10_000_000)
        let tag = Destination.Labels.Tag(key: "k", value: String(repeating: "v", count: 1000))
        #expect(try bytes(10 << 20, [tag]) <= most - 1001)
    }
}
