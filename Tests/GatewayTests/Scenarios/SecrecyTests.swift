import Crypto
import Foundation
import Net
import Queue
import Routing
import SLS
import System
import TestGateway
import TestSupport
import Testing
import Tokens

@testable import Admin
@testable import Configuration
@testable import Gateway
@testable import Ingest
@testable import Operations

/// No secret by which senders are known comes out anywhere, whatever way it is used and refused.
@Suite(.timeLimit(.minutes(10))) struct SenderSecrecyTests {
    private static let key = "canary-of-hmac-0123456789"
    private static let tokenSecret = "canary-of-tokens-0123456789abcdef"
    private static let body = Array(#"{"a":1}"#.utf8)

    private func shown(_ value: some Any) -> String {
        var text = "\(value) \(String(reflecting: value)) "
        dump(value, to: &text)
        return text
    }

    private func signature(_ secret: String) -> String {
        let fields = ["\(WallTime.now.seconds)", hex(randomBytes(16)), Digest.sha256Hex(Self.body)]
        let text = (["POST", "/logs/hello"] + fields).joined(separator: "\n")
        let mac = hex(Digest.hmacSHA256(key: Array(secret.utf8), text))
        return "v1,key=phone,time=\(fields[0]),nonce=\(fields[1]),body=\(fields[2]),mac=\(mac)"
    }

    private func token(_ secret: String) -> String {
        func encoded(_ bytes: [UInt8]) -> String {
            Digest.base64(bytes).replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        let claims = #"{"sub":"canary","exp":\#(WallTime.now.seconds + 600)}"#
        let text = [#"{"alg":"HS256","kid":"app"}"#, claims].map { encoded(Array($0.utf8)) }
            .joined(separator: ".")
        return "\(text).\(encoded(Digest.hmacSHA256(key: Array(secret.utf8), text)))"
    }

    @Test("Metrics, admin pages, answers, the journal and descriptions show no sender secret")
    func hidden() throws {
        let recorder = JournalRecorder(level: .debug)
        let key = TokenKey(id: "app", .secret(Secret(Self.tokenSecret)))
        let tokens = DeviceTokens(
            rules: TokenRules(algorithm: .hs256, keys: [key]),
            senders: [SenderRules()]
        )
        let keys = [DeviceKey(name: "phone", secret: Secret(Self.key))]
        let trial = try SandboxedGateway(journal: recorder.journal) {
            $0.devices.keys = keys
            $0.devices.tokens = tokens
        }
        var texts: [String] = []
        var secrets = ["canary"]
        for (name, value, status) in [
            ("x-sluice-signature", signature(Self.key), 200),
            ("x-sluice-signature", signature(Self.key + "-wrong"), 401),
            ("x-sluice-signature", Self.key, 401),
            ("authorization", "Bearer \(token(Self.tokenSecret))", 200),
            ("authorization", "Bearer \(token(Self.tokenSecret + "-wrong"))", 401),
            ("authorization", "Bearer \(Self.tokenSecret)", 401),
            ("authorization", "ApiKey \(Self.key)", 200), ("x-sluice-key", Self.key + "x", 401),
        ] {
            let answer = try trial.devices.post("/logs/hello", Self.body, [name: value])
            #expect(answer.status == status, "\(name) \(answer.text)")
            texts.append("\(answer.fields) \(answer.text)")
            // What was shown is as good as the secret for a while.
            secrets.append(String(value.suffix(40)))
        }
        for path in [
            "/metrics", "/admin/status", "/admin/audit", "/admin/queue", "/admin/dead-letters",
            "/admin/destinations", "/admin/credentials",
        ] {
            let answer = try trial.admin(path)
            #expect(answer.status == 200, "\(path)")
            texts.append(answer.text)
        }
        #expect(texts.contains { $0.contains(#"key="jwt:app""#) })
        var settings = DeviceSettings()
        (settings.keys, settings.tokens) = (keys, tokens)
        let table = DeviceKeys(settings, bodyBytesMax: 1 << 20, nonces: NonceMemory())
        texts += [shown(table), shown(trial.gateway.report)] + recorder.lines.now
        for text in texts {
            for secret in secrets where text.contains(secret) {
                Issue.record("\(secret) in \(text.prefix(300))")
            }
        }
    }
}

/// What filters redact is nowhere in the gateway, whatever dialect brings it and wherever it stands
/// in a request.
@Suite(.timeLimit(.minutes(10))) struct RedactionTests {
    private struct Post {
        let path: String
        let body: String
        var fields: KeyValuePairs<String, String> = [:]
    }

    /// Each canary stands in a row once, and shares no text with others: compression leaves its
    /// bytes as they are.
    private final class Canaries {
        private(set) var all: [String] = []

        func next() -> String {
            let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
            all.append(String((0..<20).map { _ in letters[Int.random(in: letters.indices)] }))
            return all[all.count - 1]
        }
    }

    private static let json = ["content-type": "application/json"] as KeyValuePairs

    private func posts(_ canaries: Canaries) -> [Post] {
        func canary() -> String { canaries.next() }
        let now = WallTime.now.seconds
        let tracked =
            #"{"__topic__":"\#(canary())","__source__":"\#(canary())","#
            + #""__tags__":{"user":"\#(canary())"},"__logs__":[{"msg":"\#(canary())"}]}"#
        return [
            Post(path: "/logs/app.\(canary())", body: #"{"msg":"\#(canary())"}"#),
            Post(path: "/logs/app", body: #"[{"msg":"\#(canary())"},{"broken "\#(canary())}]"#),
            Post(path: "/logs/app?format=lines&topic=\(canary())", body: "line \(canary())"),
            Post(path: "/logs/app", body: #"{"__time__":5,"msg":"\#(canary())"}"#),
            Post(path: "/logstores/app/track", body: tracked),
            Post(path: "/logstores/app", body: tracked, fields: Self.json),
            Post(
                path: "/v1/logs",
                body: #"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","#
                    + #""value":{"stringValue":"\#(canary())"}}]},"scopeLogs":[{"logRecords":"#
                    + #"[{"body":{"stringValue":"\#(canary())"}}]}]}]}"#,
                fields: Self.json
            ),
            Post(path: "/app/_doc", body: #"{"msg":"\#(canary())"}"#, fields: Self.json),
            Post(path: "/app/_bulk", body: "{\"index\":{}}\n{\"msg\":\"\(canary())\"}\n"),
            Post(
                path: "/services/collector",
                body: #"{"event":"\#(canary())","host":"\#(canary())","source":"\#(canary())"}"#
            ),
            Post(
                path: "/loki/api/v1/push",
                body: #"{"streams":[{"stream":{"user":"\#(canary())"},"#
                    + #""values":[["\#(now)000000000","\#(canary())"]]}]}"#,
                fields: Self.json
            ),
        ]
    }

    @Test(
        "Redacted values of every dialect are not stored, shown or sent",
        arguments: [true, false]
    )
    func canaries(isRedacted: Bool) throws {
        let recorder = JournalRecorder()
        let redaction = Redaction(fields: [FieldPattern("*")], .everything, with: .text("gone"))
        let filter = Filter(name: "privacy", steps: [FilterStep(.redact(redaction))])
        // No log of this tag is an object, so each is a dead letter.
        var failing = Filter(
            name: "failing",
            patterns: [try TagPattern("app.**")],
            steps: [FilterStep(.parse(Parsing(field: "msg", .json)))]
        )
        failing.onError = .deadLetter
        let filters = isRedacted ? [filter, failing] : [failing]
        let trial = try SandboxedGateway(journal: recorder.journal) {
            $0.routing.filters = filters
            $0.destinations[0].intake.lateLogs = .deadLetter
        }
        let (devices, directory) = (trial.devices, trial.directory)
        let tail = try trial.admin.opened(
            sending: "GET /admin/tail HTTP/1.1\r\nhost: h\r\n"
                + "authorization: Bearer \(SandboxedGateway.token)\r\n\r\n"
        )
        #expect(tail.receives("as they are accepted"))
        #expect(eventually { trial.gateway.tail.isWatched })
        let canaries = Canaries()
        for post in posts(canaries) {
            let answer = try devices.post(post.path, post.body.utf8, post.fields)
            #expect(answer.status / 100 == 2, "\(post.path) \(answer.text)")
        }
        #expect(try devices.post("/logs/app", #"{"the-last-one":"1"}"#.utf8).status == 200)
        #expect(tail.receives("the-last-one"))
        let shown = tail.unreadText
        #expect(canaries.all.contains { shown.contains($0) } == !isRedacted)
        var seen = Array((recorder.text + shown).utf8)
        for path in [
            "/metrics", "/admin/status", "/admin/queue", "/admin/dead-letters", "/admin/audit",
            "/admin/ledger", "/admin/destinations",
        ] {
            let answer = try trial.admin(path)
            #expect(answer.status == 200)
            if path == "/admin/dead-letters" { #expect(answer.text.contains("failing")) }
            seen += Array(answer.text.utf8)
        }
        for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
            seen +=
                FileManager.default.contents(atPath: "\(directory.path)/\(path)").map(Array.init)
                ?? []
        }
        let data = Data(seen)
        let found = canaries.all.indices.filter {
            data.range(of: Data(canaries.all[$0].utf8)) != nil
        }
        #expect(found == (isRedacted ? [] : Array(canaries.all.indices)))
    }
}
