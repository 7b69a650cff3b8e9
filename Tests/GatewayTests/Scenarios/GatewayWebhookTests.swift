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
@Suite(.timeLimit(.minutes(10))) struct GatewayWebhookTests {
    private let key = Credential(accessKeyID: "key-id", secret: Secret("canary-key"))

    private func trial(_ settings: WebhookSettings) throws -> SandboxedGateway {
        try SandboxedGateway {
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

    @Test("The webhook reports a credential before its expiry and again after its recovery")
    func events() throws {
        let receiver = try RecordingServer { _, _ in Response(status: 200) }
        defer { receiver.stop() }
        let trial = try trial(settings(receiver))
        let gateway = trial.gateway
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

        let status = try gateway.ask("/admin/status").text
        #expect(eventually { gateway.report.webhook.sent == 3 })
        #expect(status.contains(#""webhook":{"place":"\#(receiver.url)""#), "\(status)")
        let metrics = try gateway.ask("/metrics").text
        #expect(metrics.contains(#"sluice_webhook_events_total{result="sent"} 3"#))
        for text in [status, metrics] { #expect(!text.contains("canary")) }
    }

    @Test("A hanging receiver delays no rotation, no delivery and no stop")
    func hanging() throws {
        let receiver = try RecordingServer { _, _ in nil }
        defer { receiver.stop() }
        let trial = try trial(settings(receiver))
        let gateway = trial.gateway
        try push(gateway, age: .seconds(3000), left: .seconds(600))
        #expect(eventually { receiver.requests.count == 1 })
        let start = Moment.now
        let answer = try gateway.ask(
            "PUT",
            "/admin/credentials/pushed",
            #"{"AccessKeyId":"other","AccessKeySecret":"canary-other"}"#
        )
        #expect(answer.status == 200)
        #expect(try trial.devices.post("/logs/hello", #"{"a":1}"#.utf8).status == 200)
        #expect(trial.delivered(1))
        gateway.stop(within: .zero)
        #expect(Moment.now - start < .seconds(9).calibrated(), "an attempt would take ten")
    }

    @Test("A reload changes or removes the webhook's address")
    func reload() throws {
        let receiver = try RecordingServer { _, _ in Response(status: 200) }
        defer { receiver.stop() }
        let trial = try trial(WebhookSettings())
        let gateway = trial.gateway
        #expect(try !gateway.ask("/admin/status").text.contains("webhook"))
        try gateway.reload { $0.webhook = try settings(receiver) }
        #expect(gateway.report.webhook.place == receiver.url)
        try push(gateway, age: .seconds(3000), left: .seconds(600))
        #expect(eventually { receiver.requests.count == 1 })
        gateway.reload { $0.webhook = WebhookSettings() }
        #expect(gateway.report.webhook.place == nil)
    }
}
