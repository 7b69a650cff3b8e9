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

@Suite(.timeLimit(.minutes(1))) struct StoredDecisionTests {
    private static let path = "/admin/destinations/default"

    @Test("A decision overrides the file after a restart and a reload, until its reset")
    func restart() throws {
        let directory = TemporaryDirectory()
        let sandbox = try SandboxPartner(.silent)
        defer { sandbox.stop() }
        func topic(_ gateway: Gateway) -> String? {
            gateway.configuration.withLock { $0.destinations[0].labels.topic }
        }
        do {
            let trial = try SandboxedGateway.gateway(sandbox, directory)
            defer { trial.stop(within: .zero) }
            let admin = TestClient(address: trial.adminAddress)
            let fields: KeyValuePairs = [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "content-type": "application/json",
            ]
            let body = Array(#"{"topic":"kept","max_bytes":"1GiB"}"#.utf8)
            #expect(try admin.send("PATCH", Self.path, body, fields).status == 200)
            let reset = Array(#"{"max_bytes":null}"#.utf8)
            #expect(try admin.send("PATCH", Self.path, reset, fields).status == 200)
        }
        let again = try SandboxedGateway.gateway(sandbox, directory)
        defer { again.stop(within: .zero) }
        #expect(topic(again) == "kept")
        #expect(again.configuration.withLock { $0.destinations[0].backlog.bytesMax } == nil)
        again.configurationReload.reread()
        #expect(topic(again) == "kept")
        let admin = TestClient(address: again.adminAddress)
        let answer = try admin.send(
            "DELETE",
            Self.path,
            [],
            ["authorization": "Bearer \(SandboxedGateway.token)"]
        )
        #expect(answer.status == 200)
        #expect(topic(again) == "")
        #expect(answer.text.contains(#""decided":{}"#))
    }

    @Test("A stored decision that conflicts with the file is ignored and shown")
    func leftOut() throws {
        let directory = TemporaryDirectory()
        let sandbox = try SandboxPartner(.silent)
        defer { sandbox.stop() }
        var decided = DecidedSettings()
        try decided.merge(Array(#"{"topic":"kept"}"#.utf8))
        let isBroken = Locked(false)
        func gateway() throws -> Gateway {
            let configuration = try SandboxedGateway.configuration(sandbox, directory)
            return try Gateway(configuration, journal: .silent) {
                decided,
                _ throws(ConfigurationProblems) in
                guard isBroken.withLock({ $0 }), !decided.isEmpty else {
                    var read = configuration
                    if !decided.isEmpty { read.destinations[0].labels.topic = "kept" }
                    return read
                }
                throw ConfigurationProblems(
                    problems: [.init(place: .decided, key: "topic", text: "is wrong")]
                )
            }
        }
        do {
            let gateway = try gateway()
            defer { gateway.stop(within: .zero) }
            let answer = try TestClient(address: gateway.adminAddress).send(
                "PATCH",
                Self.path,
                Array(#"{"topic":"kept"}"#.utf8),
                [
                    "authorization": "Bearer \(SandboxedGateway.token)",
                    "content-type": "application/json",
                ]
            )
            #expect(answer.status == 200, "\(answer.text)")
        }
        isBroken.withLock { $0 = true }
        let again = try gateway()
        defer { again.stop(within: .zero) }
        #expect(again.configuration.withLock { $0.destinations[0].labels.topic } == "")
        let shown = try TestClient(address: again.adminAddress).get(
            Self.path,
            ["authorization": "Bearer \(SandboxedGateway.token)"]
        )
        #expect(shown.text.contains(#""decided_and_left_out":{"topic":"kept"}"#), "\(shown.text)")
    }

    @Test(
        "A stored decision is shown, and whether it is in force",
        arguments: [("5", "decided"), ("0", "decided_and_left_out")]
    )
    func shownDecision(value: String, member: String) throws {
        let directory = TemporaryDirectory()
        let sandbox = try SandboxPartner(.silent)
        defer { sandbox.stop() }
        do {
            let gateway = try SandboxedGateway.gateway(sandbox, directory)
            defer { gateway.stop(within: .zero) }
            let earlier = Decision(
                ["destination/default": Array(#"{"max_logstores":"\#(value)"}"#.utf8)],
                AuditEntry(actor: "a", address: "b", action: "patch", subject: "default")
            )
            #expect(gateway.store.store(earlier) == nil)
        }
        let gateway = try SandboxedGateway.gateway(sandbox, directory)
        defer { gateway.stop(within: .zero) }
        let shown = try TestClient(address: gateway.adminAddress).get(
            Self.path,
            ["authorization": "Bearer \(SandboxedGateway.token)"]
        )
        let decision = #""\#(member)":{"max_logstores":"\#(value)"}"#
        #expect(shown.text.contains(decision), "\(shown.text)")
    }
}
