import Delivery
import Queue
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Operations

/// The ends of what `packet.bytes` may be, all the way to the sandbox, which has SLS's own limit.
@Suite(.timeLimit(.minutes(1))) struct PacketSizeTests {
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
