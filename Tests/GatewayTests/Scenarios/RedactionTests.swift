import Foundation
import Queue
import Routing
import System
import TestGateway
import TestSupport
import Testing

@testable import Configuration
@testable import Gateway
@testable import Ingest

/// What filters redact is nowhere in the gateway, whatever dialect brings it and wherever it stands
/// in a request.
@Suite(.timeLimit(.minutes(1))) struct RedactionTests {
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
        let said = Locked<[UInt8]>([])
        let journal = Journal(level: .debug, format: .json) { line in
            said.withLock { $0 += line }
        }
        let directory = TemporaryDirectory()
        let sandbox = try SandboxPartner(.silent)
        defer { sandbox.stop() }
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
        let gateway = try SandboxedGateway.gateway(sandbox, directory, journal: journal) {
            $0.routing.filters = filters
            $0.destinations[0].intake.lateLogs = .deadLetter
        }
        defer { gateway.stop(within: .zero) }
        let devices = TestClient(address: gateway.deviceAddress)
        let admin = TestClient(address: gateway.adminAddress)
        let tail = try admin.opened(
            sending: "GET /admin/tail HTTP/1.1\r\nhost: h\r\n"
                + "authorization: Bearer \(SandboxedGateway.token)\r\n\r\n"
        )
        #expect(tail.receives("as they are accepted"))
        #expect(eventually { gateway.tail.isWatched })
        let canaries = Canaries()
        for post in posts(canaries) {
            let answer = try devices.post(post.path, post.body.utf8, post.fields)
            #expect(answer.status / 100 == 2, "\(post.path) \(answer.text)")
        }
        #expect(try devices.post("/logs/app", #"{"the-last-one":"1"}"#.utf8).status == 200)
        #expect(tail.receives("the-last-one"))
        let shown = tail.unreadText
        #expect(canaries.all.contains { shown.contains($0) } == !isRedacted)
        var seen = said.withLock { $0 } + Array(shown.utf8)
        for path in [
            "/metrics", "/admin/status", "/admin/queue", "/admin/dead-letters", "/admin/audit",
            "/admin/ledger", "/admin/destinations",
        ] {
            let answer = try admin.get(path, ["authorization": "Bearer \(SandboxedGateway.token)"])
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
