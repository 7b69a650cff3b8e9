import Credentials
import Crypto
import HTTP
import Net
import Queue
import SLS
import System
import TestGateway
import TestHTTP
import TestSupport
import Testing

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Operations

/// A gateway with a webhook, and a credential that comes to its end.
@Suite(.timeLimit(.minutes(1))) struct GatewayWebhookTests {
    private let key = Credential(accessKeyID: "key-id", secret: Secret("canary-key"))
    private let directory = TemporaryDirectory()

    private func gateway(_ partner: SandboxPartner, _ settings: WebhookSettings) throws -> Gateway {
        try SandboxedGateway.gateway(partner, directory) {
            $0.credentials["pushed"] = .admin
            $0.webhook = settings
        }
    }

    private func settings(_ receiver: RecordingServer) throws -> WebhookSettings {
        var settings = WebhookSettings()
        settings.address = try WebAddress(
            parsing: "\(receiver.url)/canary-url",
            example: "",
            secretKey: ""
        )
        settings.authorization = Secret("canary-header")
        return settings
    }

    private func push(_ gateway: Gateway, age: Duration, left: Duration) throws {
        let supplied = SuppliedCredential(
            key,
            expiration: .now + left,
            origin: "a test",
            obtainedAt: .now + (.zero - age)
        )
        try gateway.keeper.push("pushed", PushedCredential(supplied))
        // Credentials are looked at after each change, too.
        _ = gateway.workers.proofs.post {}
    }

    private func admin(_ gateway: Gateway, _ path: String) throws -> String {
        try TestClient(address: gateway.adminAddress)
            .get(path, ["authorization": "Bearer \(SandboxedGateway.token)"]).text
    }

    @Test("The webhook reports a credential before its expiry and again after its recovery")
    func events() throws {
        let partner = try SandboxPartner(.silent)
        defer { partner.stop() }
        let receiver = try RecordingServer { _, _ in Response(status: 200) }
        defer { receiver.stop() }
        let gateway = try gateway(partner, settings(receiver))
        defer { gateway.stop(within: .zero) }
        func told() -> [String] {
            receiver.requests.map { request in
                String(request.text.firstMatch(of: /"event":"credential\.(\w+)"/)?.1 ?? "?")
            }
        }
        try push(gateway, age: .seconds(2700), left: .seconds(900))
        #expect(gateway.keeper.status.map(\.state) == [.ok, .ok])
        try push(gateway, age: .seconds(3000), left: .seconds(600))
        #expect(eventually { told() == ["expiring"] })
        #expect(receiver.requests.first?.text.contains(#""credential":"pushed""#) == true)
        try push(gateway, age: .seconds(10), left: .seconds(3590))
        #expect(eventually { told() == ["expiring", "recovered"] })
        gateway.keeper.noteRefusal("pushed")
        _ = gateway.workers.proofs.post {}
        #expect(eventually { told() == ["expiring", "recovered", "refused"] })

        let status = try admin(gateway, "/admin/status")
        #expect(eventually { gateway.report.webhook.sent == 3 })
        #expect(status.contains(#""webhook":{"place":"\#(receiver.url)""#), "\(status)")
        let metrics = try admin(gateway, "/metrics")
        #expect(metrics.contains(#"sluice_webhook_events_total{result="sent"} 3"#))
        for text in [status, metrics] { #expect(!text.contains("canary")) }
    }

    @Test("A hanging receiver delays no rotation, no delivery and no stop")
    func hanging() throws {
        let partner = try SandboxPartner(.silent)
        defer { partner.stop() }
        let receiver = try RecordingServer { _, _ in nil }
        defer { receiver.stop() }
        let gateway = try gateway(partner, settings(receiver))
        try push(gateway, age: .seconds(3000), left: .seconds(600))
        #expect(eventually { receiver.requests.count == 1 })
        let start = Moment.now
        let answer = try TestClient(address: gateway.adminAddress).send(
            "PUT",
            "/admin/credentials/pushed",
            Array(#"{"AccessKeyId":"other","AccessKeySecret":"canary-other"}"#.utf8),
            [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "content-type": "application/json",
            ]
        )
        #expect(answer.status == 200)
        #expect(
            try TestClient(address: gateway.deviceAddress).post("/logs/hello", #"{"a":1}"#.utf8)
                .status
                == 200
        )
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        gateway.stop(within: .zero)
        #expect(Moment.now - start < .seconds(9).calibrated(), "an attempt would take ten")
    }

    @Test("A reload changes or removes the webhook's address")
    func reload() throws {
        let partner = try SandboxPartner(.silent)
        defer { partner.stop() }
        let receiver = try RecordingServer { _, _ in Response(status: 200) }
        defer { receiver.stop() }
        let gateway = try gateway(partner, WebhookSettings())
        defer { gateway.stop(within: .zero) }
        #expect(try !admin(gateway, "/admin/status").contains("webhook"))
        var new = gateway.configuration.withLock { $0 }
        new.webhook = try settings(receiver)
        gateway.reload(new)
        #expect(gateway.report.webhook.place == receiver.url)
        try push(gateway, age: .seconds(3000), left: .seconds(600))
        #expect(eventually { receiver.requests.count == 1 })
        new.webhook = WebhookSettings()
        gateway.reload(new)
        #expect(gateway.report.webhook.place == nil)
    }
}
