import Credentials
import Crypto
import Foundation
import HTTP
import SLS
import System
import TestHTTP
import TestSupport
import Testing

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(1))) struct WebhookTests {
    private static let pace = WebhookPace(
        first: .milliseconds(10),
        longest: .milliseconds(20),
        patience: .seconds(60)
    )
    private let lines = Locked<[String]>([])

    private var journal: Journal {
        Journal(level: .debug, format: .json) { [lines] line in
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
    }

    private func settings(_ receiver: RecordingServer) throws -> WebhookSettings {
        var settings = WebhookSettings()
        settings.address = try WebAddress(
            parsing: "\(receiver.url)/canary-path?token=canary-query",
            example: "",
            secretKey: ""
        )
        settings.authorization = Secret("Bearer canary-header")
        return settings
    }

    private func notice(_ name: String, _ event: CredentialNotice.Event = .refused)
        -> CredentialNotice
    {
        var status = CredentialStatus(name: name, source: "file", state: .refused)
        status.fingerprint = "1a2b3c4d"
        status.expiration = WallTime(seconds: 1_736_846_000)
        status.secondsLeft = 600
        return CredentialNotice(event, status, at: WallTime(seconds: 1_736_843_400))
    }

    private func names(_ receiver: RecordingServer) -> [String] {
        receiver.requests.map { request in
            let json = try? JSONSerialization.jsonObject(with: Data(request.body))
            return (json as? [String: Any])?["credential"] as? String ?? "?"
        }
    }

    @Test("A webhook request has event, host, expiry, id and the authorization")
    func content() throws {
        let receiver = try RecordingServer { _, _ in Response(status: 204) }
        defer { receiver.stop() }
        let webhook = Webhook(journal, pace: Self.pace)
        defer { webhook.stop() }
        try webhook.use(settings(receiver))
        let notice = notice("default")
        webhook.tell(notice)
        #expect(eventually { webhook.status.sent == 1 })
        let request = try #require(receiver.requests.first)
        #expect(request.method == .post && request.path == "/canary-path")
        #expect(request.query == "token=canary-query")
        #expect(request.fields["content-type"] == "application/json")
        #expect(request.fields["authorization"] == "Bearer canary-header")
        #expect(request.fields["idempotency-key"] == notice.id)
        let json = try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
        let expected = [
            "id": notice.id, "event": "credential.refused", "time": "2025-01-14T08:30:00.000Z",
            "credential": "default", "source": "file", "state": "refused",
            "fingerprint": "1a2b3c4d", "expires_at": "2025-01-14T09:13:20.000Z",
        ]
        for (name, value) in expected { #expect(json?[name] as? String == value, "\(name)") }
        #expect(json?["seconds_left"] as? Int == 600)
        #expect((json?["host"] as? String)?.isEmpty == false)
        #expect((json?["remedy"] as? String)?.isEmpty == false)
        #expect(!request.text.contains("canary"))
        #expect(webhook.status.place == receiver.url)
    }

    @Test("A receiver that recovers gets every event in order, with unchanged ids")
    func retries() throws {
        let receiver = try RecordingServer { _, number in
            Response(status: [500, 503, 429, 408].dropFirst(number).first ?? 200)
        }
        defer { receiver.stop() }
        let webhook = Webhook(journal, pace: Self.pace)
        defer { webhook.stop() }
        try webhook.use(settings(receiver))
        webhook.tell(notice("a"))
        webhook.tell(notice("b"))
        #expect(eventually { webhook.status.sent == 2 })
        #expect(names(receiver) == ["a", "a", "a", "a", "a", "b"])
        #expect(Set(receiver.requests.prefix(5).map { $0.fields["idempotency-key"] }).count == 1)
        #expect(webhook.status.failed == 0 && webhook.status.problem == nil)
        #expect(lines.withLock { $0 }.isEmpty)
    }

    @Test("A 4xx or a redirect is not retried", arguments: [301, 401])
    func refused(status: Int) throws {
        let receiver = try RecordingServer { _, number in
            var response = Response(status: number == 0 ? status : 200)
            response.fields.append(("location", "/elsewhere"))
            return response
        }
        defer { receiver.stop() }
        let webhook = Webhook(journal, pace: Self.pace)
        defer { webhook.stop() }
        try webhook.use(settings(receiver))
        webhook.tell(notice("a"))
        webhook.tell(notice("b"))
        #expect(eventually { webhook.status.sent == 1 })
        #expect(webhook.status.failed == 1)
        #expect(names(receiver) == ["a", "b"])
        let told = lines.withLock { $0 }.joined()
        #expect(
            told.contains("webhook event not delivered")
                && told.contains("the receiver answered \(status)")
        )
        #expect(told.contains(receiver.url) && !told.contains("canary"))
    }

    @Test("An unreachable receiver is given up, and the journal shows no secret")
    func away() throws {
        let receiver = try RecordingServer { _, _ in nil }
        let settings = try settings(receiver)
        receiver.stop()
        var pace = Self.pace
        pace.patience = .milliseconds(100)
        let webhook = Webhook(journal, pace: pace)
        defer { webhook.stop() }
        try webhook.use(settings)
        webhook.tell(notice("a"))
        #expect(eventually { webhook.status.failed == 1 })
        #expect(webhook.status.problem?.contains("no answer") == true)
        #expect(lines.withLock { $0.joined() }.contains("webhook event not delivered"))
        #expect(!(lines.withLock { $0.joined() } + "\(webhook.status)").contains("canary"))
    }

    @Test("A hanging receiver delays no caller, and events beyond the bound are counted")
    func hanging() throws {
        let receiver = try RecordingServer { _, _ in nil }
        defer { receiver.stop() }
        let webhook = Webhook(journal, pace: Self.pace)
        try webhook.use(settings(receiver))
        webhook.tell(notice("first"))
        #expect(eventually { receiver.requests.count == 1 })
        let start = Moment.now
        for number in 0..<100 { webhook.tell(notice("\(number)")) }
        #expect(webhook.status.waiting == Webhook.waitingMax)
        #expect(webhook.status.dropped == 101 - Webhook.waitingMax)
        webhook.stop()
        #expect(Moment.now - start < .seconds(5).calibrated())
    }

    @Test("A new address gets the waiting events; without one they are dropped")
    func replaced() throws {
        let silent = try RecordingServer { _, _ in nil }
        defer { silent.stop() }
        let other = try RecordingServer { _, _ in Response(status: 200) }
        defer { other.stop() }
        let webhook = Webhook(journal, pace: Self.pace)
        defer { webhook.stop() }
        webhook.tell(notice("before"))
        try webhook.use(settings(silent))
        webhook.tell(notice("a"))
        webhook.tell(notice("b"))
        #expect(eventually { silent.requests.count == 1 })
        try webhook.use(settings(other))
        #expect(eventually { webhook.status.sent == 2 })
        #expect(names(other) == ["a", "b"])
        try webhook.use(WebhookSettings())
        webhook.tell(notice("c"))
        #expect(webhook.status == WebhookStatus(sent: 2))
    }

    @Test("The receiver's status decides, whatever its body is")
    func body() throws {
        let receiver = try RecordingServer { _, _ in
            Response(text: String(repeating: "x", count: 1 << 20))
        }
        defer { receiver.stop() }
        let webhook = Webhook(journal, pace: Self.pace)
        defer { webhook.stop() }
        try webhook.use(settings(receiver))
        webhook.tell(notice("a"))
        #expect(eventually { webhook.status.sent == 1 })
        #expect(receiver.requests.count == 1)
    }
}
