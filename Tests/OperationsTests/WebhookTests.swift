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

@Suite struct CredentialWatchTests {
    private typealias State = CredentialStatus.State

    private var watch = CredentialWatch()
    private var now = Moment(nanoseconds: 0)

    /// What is told of one credential that is looked at every ten seconds, by its states.
    private mutating func events(
        _ states: [State],
        fingerprint: String = "a",
        failures: [Int] = []
    ) -> [String] {
        states.enumerated().map { index, state in
            var status = CredentialStatus(name: "default", source: "admin", state: state)
            status.fingerprint = fingerprint
            status.failures = failures.isEmpty ? 0 : failures[index]
            let notices = watch.look(
                [status],
                interval: .seconds(300),
                now: now,
                time: WallTime(seconds: 1_700_000_000)
            )
            now = now + .seconds(10)
            return notices.map(\.event.rawValue).joined()
        }
    }

    @Test("A usable credential, or one in its first fetch, causes no notice")
    mutating func well() {
        let told = events([.refreshing, .missing, .refreshing, .ok, .ok])
        #expect(told.joined() == "")
    }

    @Test("A missing credential is reported after several failures of its source")
    mutating func neverThere() {
        let told = events(
            [.missing, .missing, .missing, .missing, .ok],
            failures: [1, 2, 3, 4, 0]
        )
        #expect(told == ["", "", "missing", "", "recovered"])
    }

    @Test("Each event is reported once")
    mutating func once() {
        #expect(
            events([.ok, .expiring, .expiring, .expired, .expired, .ok, .ok])
                == ["", "expiring", "", "expired", "", "recovered", ""]
        )
    }

    @Test("A credential unusable at the start is reported, and so is its recovery")
    mutating func start() {
        #expect(events([.refused, .refreshing, .ok]) == ["refused", "", "recovered"])
    }

    @Test("A second refused credential is reported after the interval")
    mutating func second() {
        #expect(events([.refused]) == ["refused"])
        #expect(events([.refused], fingerprint: "b") == [""])
        now = now + .seconds(300)
        #expect(events([.refused, .refused], fingerprint: "b") == ["refused", ""])
    }

    @Test("A flapping credential is reported at most once per interval, with its last state")
    mutating func flapping() {
        // Half an hour of it.
        let flapping = (0..<180).map { $0 % 2 == 0 ? State.refused : .ok }
        let told = events(flapping).filter { !$0.isEmpty }
        #expect((2...14).contains(told.count), "\(told)")
        let after = events(Array(repeating: .refused, count: 60)).filter { !$0.isEmpty }
        let all = told + after
        #expect(all.last == "refused")
        let isAlternating = zip(all, all.dropFirst()).allSatisfy { $0 != $1 }
        #expect(isAlternating, "\(all)")
    }

    @Test("The interval is counted for each credential, and a removed one is forgotten")
    mutating func several() {
        func look(_ names: [String]) -> [String] {
            watch.look(
                names.map { CredentialStatus(name: $0, source: "admin", state: .refused) },
                interval: .seconds(300),
                now: now,
                time: .now
            ).map(\.status.name)
        }
        #expect(look(["a", "b"]) == ["a", "b"])
        #expect(look(["b"]) == [])
        #expect(look(["a", "b"]) == ["a"])
    }
}

@Suite(.timeLimit(.minutes(10))) struct WebhookTests {
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
