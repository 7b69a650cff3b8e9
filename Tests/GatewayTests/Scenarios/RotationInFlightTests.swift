import Configuration
import Credentials
import Crypto
import Delivery
import HTTP
import Queue
import SLS
import System
import TestGateway
import TestHTTP
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// A request that is on its way while the credential that signed it is replaced.
@Suite(.timeLimit(.minutes(1))) struct RotationInFlightTests {
    private static let taken = Response(
        status: 200,
        fields: [("x-log-requestid", "5FF9B1A2C3D4E5F601234567")]
    )
    /// A log group without logs, with which a credential is proved.
    private static let proof: [UInt8] = [0x22, 0x00]

    @Test("A request in flight during a rotation ends with the old credential and is not repeated")
    func inFlight() throws {
        let directory = TemporaryDirectory()
        let partner = try SandboxPartner(.silent)
        defer { partner.stop() }
        let isHolding = Locked(true)
        let receiver = try RecordingServer { request, _ in
            request.body == Self.proof || !isHolding.withLock { $0 } ? Self.taken : nil
        }
        defer { receiver.stop() }
        let endpoint = try Endpoint(parsing: receiver.url)
        let gateway = try SandboxedGateway.gateway(partner, directory) {
            $0.credentials["default"] = .fixed(
                Credential(accessKeyID: "old-key-id", secret: Secret("old-secret"))
            )
            $0.destinations[0].endpoints = [endpoint]
        }
        defer { gateway.stop(within: .zero) }
        // Who signed each packet.
        func signers() -> [String] {
            receiver.requests.filter { $0.body != Self.proof }.map { request in
                let text = request.fields["authorization"] ?? ""
                return ["old-key-id", "new-key-id"].first { text.contains($0) } ?? text
            }
        }
        let devices = TestClient(address: gateway.deviceAddress)
        let log = #"{"a":1}"#.utf8
        #expect(try devices.post("/logs/hello", log).status == 200)
        #expect(eventually { signers() == ["old-key-id"] })

        let answer = try TestClient(address: gateway.adminAddress).send(
            "PUT",
            "/admin/credentials/default",
            Array(#"{"AccessKeyId":"new-key-id","AccessKeySecret":"new-secret"}"#.utf8),
            [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "content-type": "application/json",
            ]
        )
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.text.contains(#""proved":true"#))
        #expect(gateway.report.queue.ledger.delivered == 0)
        #expect(gateway.report.destinations[0].delivery.inFlight == 1)
        isHolding.withLock { $0 = false }
        receiver.release(Self.taken)
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })

        #expect(try devices.post("/logs/hello", log).status == 200)
        #expect(eventually { gateway.report.queue.ledger.delivered == 2 })
        #expect(signers() == ["old-key-id", "new-key-id"])
        let delivery = gateway.report.destinations[0].delivery
        #expect(delivery.failures.isEmpty && delivery.retries == 0 && delivery.storedBefore == 0)
    }
}
