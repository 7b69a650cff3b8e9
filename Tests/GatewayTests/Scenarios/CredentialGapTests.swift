import Configuration
import Credentials
import Delivery
import Queue
import SLS
import Sandbox
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// A credential ends while a gate is closed for another reason, and all that waited grows too old
/// before the next credential comes: what devices send after that has to arrive without a restart.
@Suite(.timeLimit(.minutes(1))) struct CredentialGapTests {
    private let directory = TemporaryDirectory()
    private let partner: SandboxPartner

    init() throws {
        partner = try SandboxPartner(.silent)
    }

    private var sandbox: TestClient { TestClient(address: partner.address) }

    private func gateway(_ source: CredentialSource, ageMax: Duration) throws -> Gateway {
        try SandboxedGateway.gateway(partner, directory) {
            $0.credentials["default"] = source
            $0.queue.ageMax = ageMax
        }
    }

    /// As STS writes it, and known to the sandbox.
    private func token(_ id: String, lasting time: Duration) throws -> String {
        let key = #"{"access_key_id":"\#(id)","access_key_secret":"s","security_token":"t"}"#
        #expect(try sandbox.post("/keys", key.utf8).status == 200)
        return #"{"AccessKeyId":"\#(id)","AccessKeySecret":"s","SecurityToken":"t","#
            + #""Expiration":"\#((WallTime.now + time).rfc3339)"}"#
    }

    private func isWaiting(_ gateway: Gateway) -> Bool {
        let state = gateway.report.destinations[0].delivery.state
        return if case .waitingForCredential = state { true } else { false }
    }

    private func isPaused(_ gateway: Gateway) -> Bool {
        let state = gateway.report.destinations[0].delivery.state
        return if case .paused = state { true } else { false }
    }

    /// Posts logs until one that found the gate closed has expired with all others, and the
    /// credential has ended.
    private func gap(_ gateway: Gateway) throws {
        let devices = TestClient(address: gateway.deviceAddress)
        for logstore in ["one", "two"] {
            #expect(try devices.post("/logs/\(logstore)", #"{"a":1}"#.utf8).status == 200)
        }
        #expect(eventually { isPaused(gateway) })
        #expect(eventually { isWaiting(gateway) })
        #expect(eventually { gateway.report.queue.ledger.expired == 2 })
        #expect(gateway.report.queue.ledger.queued == 0)
        #expect(try sandbox.send("DELETE", "/faults").status < 300)
    }

    /// Whether what is accepted from now on arrives. Older logs may expire, so new ones come again
    /// and again.
    private func delivers(_ gateway: Gateway) -> Bool {
        let devices = TestClient(address: gateway.deviceAddress)
        return eventually(within: .seconds(15)) {
            for logstore in ["one", "two"] {
                _ = try? devices.post("/logs/\(logstore)", #"{"a":2}"#.utf8)
            }
            let outlets = gateway.report.destinations[0].delivery.outlets
            return outlets.count { $0.sentPackets > 0 } == 2
        }
    }

    @Test("A token pushed after a refused and expired one is used")
    func pushed() throws {
        defer { partner.stop() }
        let gateway = try gateway(.admin, ageMax: .seconds(6))
        defer { gateway.stop(within: .zero) }
        let refusal = #"{"status":401,"code":"SecurityTokenExpired"}"#
        #expect(try sandbox.post("/faults", refusal.utf8).status < 300)
        func push(_ token: String) throws {
            let answer = try TestClient(address: gateway.adminAddress).send(
                "PUT",
                "/admin/credentials/default?force=true",
                Array(token.utf8),
                [
                    "authorization": "Bearer \(SandboxedGateway.token)",
                    "content-type": "application/json",
                ]
            )
            #expect(answer.status == 200, "\(answer.text)")
        }
        try push(token("first", lasting: .seconds(3)))
        try gap(gateway)
        try push(token("second", lasting: .seconds(3600)))
        #expect(delivers(gateway))
    }

    @Test(
        "After an outage longer than the logs' age and the token's lifetime, the next token is used"
    )
    func outage() throws {
        defer { partner.stop() }
        // So that the endpoint's gate closes with the first answer.
        let outage = #"{"status":503,"code":"ServerBusy","retry_after_s":1}"#
        #expect(try sandbox.post("/faults", outage.utf8).status < 300)
        // The token ends before the logs do, so that a request finds it gone.
        let path = directory.file("token.json", try token("first", lasting: .seconds(3)))
        let gateway = try gateway(.file(FileSource(path: path)), ageMax: .seconds(6))
        defer { gateway.stop(within: .zero) }
        try gap(gateway)
        _ = directory.file("token.json", try token("second", lasting: .seconds(3600)))
        #expect(delivers(gateway))
    }
}
