import Delivery
import Foundation
import Queue
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Configuration
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct DestinationDeskTests {
    private static let path = "/admin/destinations/default"

    private let trial: SandboxedGateway

    init() throws { trial = try SandboxedGateway() }

    private func ask(
        _ trial: SandboxedGateway,
        _ method: String,
        _ path: String = path,
        _ body: String = "",
        ifMatch: String? = nil
    ) throws -> TestAnswer {
        try trial.admin.ask(method, path, body, ifMatch: ifMatch)
    }

    private func settings(_ answer: TestAnswer) throws -> [String: Any] {
        try #require(try answer.object["settings"] as? [String: Any])
    }

    private func post(_ trial: SandboxedGateway, _ number: Int) throws -> Int {
        try trial.devices.post("/logs/hello", #"{"number":\#(number)}"#.utf8).status
    }

    @Test("A patch applies to the next log, and the answer lists decisions that override the file")
    func patch() throws {
        let body = #"{"topic":"night","packet":{"logs":7},"tags":{"env":"prod"},"concurrency":3}"#
        let answer = try ask(trial, "PATCH", Self.path, body)
        #expect(answer.status == 200, "\(answer.text)")
        let settings = try settings(answer)
        #expect(settings["topic"] as? String == "night")
        #expect(settings["concurrency"] as? Int == 3)
        let packet = try #require(settings["packet"] as? [String: Any])
        #expect(packet["logs"] as? Int == 7 && packet["bytes"] as? Int == 1 << 20)
        let decided = try #require(try answer.object["decided"] as? [String: Any])
        #expect(Set(decided.keys) == ["topic", "packet", "tags", "concurrency"])
        #expect(try post(trial, 1) == 200)
        #expect(trial.delivered(1))
        let sandbox = TestClient(address: trial.sandbox.address)
        let arrived = try sandbox.get("/logs?logstore=hello").text
        #expect(arrived.contains(#""__topic__":"night""#), "\(arrived)")
    }

    @Test("A patch that makes the configuration invalid is refused as a whole, with all reasons")
    func invalid() throws {
        let body = #"{"topic":"new","concurrency":"none","colour":"red","packet":{"logs":0}}"#
        let answer = try ask(trial, "PATCH", Self.path, body)
        #expect(answer.status == 400)
        for part in [
            "destinations.default.concurrency", "colour: unknown key", "packet.logs",
        ] {
            #expect(answer.text.contains(part), "\(part) in \(answer.text)")
        }
        #expect(try settings(try ask(trial, "GET"))["topic"] as? String == "")
        #expect(try trial.admin("/admin/audit").text.contains(#""changes":[]"#))
    }

    @Test(
        "Bodies that are no settings are refused",
        arguments: [
            "", "[]", "\"text\"", "{", #"{"topic":"${HOME}"}"#.replacing("${HOME}", with: ""),
        ]
    )
    func bodies(body: String) throws {
        let answer = try ask(trial, "PATCH", Self.path, body)
        #expect(answer.status == (body.contains("topic") ? 200 : 400), "\(body): \(answer.text)")
    }

    @Test("A member set to null is removed, also from the stored decision")
    func nulls() throws {
        var settings = DecidedSettings()
        try settings.merge(Array(#"{"tags":{"env":"prod","zone":null},"packet":{"logs":7}}"#.utf8))
        #expect(settings.json == #"{"tags":{"env":"prod"},"packet":{"logs":"7"}}"#)
        #expect(try DecidedSettings(json: Array(settings.json.utf8)).json == settings.json)
        try settings.merge(Array(#"{"packet":{"logs":null},"tags":null}"#.utf8))
        #expect(settings.isEmpty)
    }

    @Test("A body that is not JSON is refused")
    func json() throws {
        let rocket = try ask(trial, "PATCH", Self.path, #"{"topic":"\ud83d\ude80"}"#)
        #expect(try self.settings(rocket)["topic"] as? String == "🚀")
        for body in ["{topic: a}", "{\"topic\":*a}", "{\"topic\":'a'}", "{\"topic\":\"a\",}"] {
            #expect(try ask(trial, "PATCH", Self.path, body).status == 400, "\(body)")
        }
    }

    @Test("A patch with an unknown credential is refused")
    func strangeCredential() throws {
        let directory = TemporaryDirectory()
        let sandbox = try SandboxPartner(.silent)
        defer { sandbox.stop() }
        let configuration = try SandboxedGateway.configuration(sandbox, directory)
        let gateway = try Gateway(configuration, journal: .silent) { _, _ in
            var read = configuration
            read.destinations[0].credential = "new"
            return read
        }
        defer { gateway.stop(within: .zero) }
        let answer = try gateway.admin.ask("PATCH", Self.path, #"{"credential":"new"}"#)
        #expect(answer.status == 400 && answer.text.contains("no credential new"), "\(answer.text)")
    }

    @Test("A patch does not substitute variables or files")
    func substitution() throws {
        let body = #"{"topic":"${SLUICE_ADMIN_TOKEN}","source":"${file:/etc/hostname}"}"#
        let answer = try ask(trial, "PATCH", Self.path, body)
        #expect(try settings(answer)["topic"] as? String == "${SLUICE_ADMIN_TOKEN}")
        #expect(try settings(answer)["source"] as? String == "${file:/etc/hostname}")
    }

    @Test("A proxy with a password is refused, because decisions are stored unencrypted")
    func password() throws {
        let body = #"{"proxy":"http://u:canary-password@10.0.0.1:3128"}"#
        let answer = try ask(trial, "PATCH", Self.path, body)
        #expect(answer.status == 400)
        #expect(!answer.text.contains("canary"))
    }

    @Test("A test of a destination answers for each kind without delivering a log")
    func test() throws {
        let answer = try ask(trial, "POST", Self.path + "/test")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(
            try answer.object["message"] as? String
                == "SLS accepts a signed request. No log was sent"
        )
        #expect(try ask(trial, "POST", "/admin/destinations/nobody/test").status == 404)
        let folder = TemporaryDirectory()
        let others = try SandboxedGateway { [path = folder.path] in
            for (name, kind) in [("archive", DestinationKind.file), ("console", .stdout)] {
                var destination = $0.destinations[0]
                destination.name = name
                destination.kind = kind
                destination.file.path = kind == .file ? "\(path)/a.ndjson" : ""
                $0.destinations.append(destination)
            }
        }
        let file = try ask(others, "POST", "/admin/destinations/archive/test").object
        #expect(file["verdict"] as? String == "accepted", "\(file)")
        #expect(file["endpoint"] as? String == "\(folder.path)/a.ndjson")
        let output = try ask(others, "POST", "/admin/destinations/console/test").object
        #expect(output["endpoint"] as? String == "stdout", "\(output)")
        #expect(others.gateway.report.queue.ledger.accepted == 0)
    }

    @Test("The second of two changes with the same If-Match version is refused")
    func versions() throws {
        let version = try #require(try ask(trial, "GET")["etag"])
        let first = try ask(trial, "PATCH", Self.path, #"{"topic":"a"}"#, ifMatch: version)
        #expect(first.status == 200)
        let second = try ask(trial, "PATCH", Self.path, #"{"topic":"b"}"#, ifMatch: version)
        #expect(second.status == 412)
        let after = try #require(first["etag"])
        #expect(after != version)
        #expect(try ask(trial, "PATCH", Self.path, #"{"topic":"b"}"#, ifMatch: after).status == 200)
        for (condition, status) in [
            ("*", 200), (after, 412), ("W/" + version, 412), ("none", 400),
        ] {
            let answer = try ask(trial, "DELETE", Self.path, ifMatch: condition)
            #expect(answer.status == status, "\(condition): \(answer.text)")
            if status == 200 { #expect(answer["etag"] == version) }
        }
    }

    @Test(
        "A setting beyond those that are kept is refused with the remedy, and one that is kept changes"
    )
    func tooMany() throws {
        #expect(try ask(trial, "PATCH", Self.path, #"{"topic":"a"}"#).status == 200)
        var others: [String: [UInt8]] = [:]
        for number in 1..<Decision.settingsMax { others["held/other-\(number)"] = [1] }
        let filler = Decision(
            others,
            AuditEntry(actor: "a", address: "b", action: "fill", subject: "all")
        )
        #expect(trial.gateway.store.decisions.store(filler) == nil)
        let refused = try ask(trial, "POST", Self.path + "/pause")
        #expect(refused.status == 409)
        #expect(refused.text.contains("limit of 1000 decisions is reached"), "\(refused.text)")
        #expect(refused.text.contains("DELETE /admin/destinations/NAME"))
        #expect(try ask(trial, "PATCH", Self.path, #"{"topic":"b"}"#).status == 200)
        #expect(try ask(trial, "DELETE", Self.path).status == 200)
        #expect(try ask(trial, "POST", Self.path + "/pause").status == 200)
    }

    @Test("A paused destination accepts logs and sends none until it is resumed")
    func pause() throws {
        #expect(try ask(trial, "POST", Self.path + "/pause").status == 200)
        #expect(eventually { trial.gateway.report.destinations[0].delivery.state == .held })
        for number in 0..<5 { #expect(try post(trial, number) == 200) }
        #expect(try trial.admin("/readyz").text.contains("paused by an operator"))
        #expect(try TestClient(address: trial.sandbox.address).get("/stats").text.isEmpty == false)
        #expect(trial.gateway.report.queue.ledger.delivered == 0)
        #expect(try ask(trial, "POST", Self.path + "/resume").status == 200)
        #expect(trial.delivered(5))
        let audit = try trial.admin("/admin/audit").text
        #expect(audit.contains(#""action":"pause""#) && audit.contains(#""action":"resume""#))
    }

    @Test("A pause outlives a restart")
    func pauseRestart() throws {
        let directory = TemporaryDirectory()
        let sandbox = try SandboxPartner(.silent)
        defer { sandbox.stop() }
        for _ in 0..<2 {
            let gateway = try SandboxedGateway.gateway(sandbox, directory)
            defer { gateway.stop(within: .zero) }
            let answer = try gateway.admin.ask("POST", Self.path + "/pause")
            #expect(answer.status == 200)
        }
        let gateway = try SandboxedGateway.gateway(sandbox, directory)
        defer { gateway.stop(within: .zero) }
        #expect(eventually { gateway.report.destinations[0].delivery.state == .held })
    }

    @Test("A flush sends a partly filled packet at once")
    func flush() throws {
        let trial = try SandboxedGateway { $0.destinations[0].transfer.packet.age = .seconds(3600) }
        #expect(try post(trial, 1) == 200)
        #expect(try ask(trial, "POST", Self.path + "/flush").status == 200)
        #expect(trial.delivered(1))
    }

    @Test("A drain refuses new logs, delivers the queue and can be ended")
    func drain() throws {
        let trial = try SandboxedGateway { $0.destinations[0].transfer.packet.age = .seconds(3600) }
        #expect(try post(trial, 1) == 200)
        let answer = try ask(trial, "POST", "/admin/drain")
        #expect(answer.text.contains(#""draining":true"#), "\(answer.text)")
        #expect(trial.delivered(1))
        #expect(try post(trial, 2) == 503)
        #expect(try trial.admin.get("/readyz").text.contains("is draining"))
        #expect(try ask(trial, "DELETE", "/admin/drain").text.contains(#""draining":false"#))
        #expect(try post(trial, 3) == 200)
    }

    @Test("Ledger and queue are shown in total and by destination")
    func documents() throws {
        #expect(try post(trial, 1) == 200)
        #expect(trial.delivered(1))
        let ledger = try trial.object("/admin/ledger")
        #expect(ledger["closed"] as? Bool == true)
        let own = (ledger["destinations"] as? [String: Any])?["default"] as? [String: Any]
        #expect(own?["delivered"] as? Int == 1 && own?["imbalance"] as? Int == 0)
        let queue = try trial.object("/admin/queue")
        #expect((queue["destinations"] as? [String: Any])?["default"] != nil)
        let list = try trial.object("/admin/destinations")
        #expect((list["destinations"] as? [Any])?.count == 1)
    }

    @Test(
        "Destinations that are not there are 404",
        arguments: [
            ("GET", "/admin/destinations/other"), ("PATCH", "/admin/destinations/other"),
            ("DELETE", "/admin/destinations/other"), ("POST", "/admin/destinations/other/pause"),
            ("POST", "/admin/destinations/other/flush"),
            ("GET", "/admin/destinations/other/colour"),
        ]
    )
    func unknown(method: String, path: String) throws {
        let answer = try ask(trial, method, path, method == "PATCH" ? "{}" : "")
        #expect(answer.status == 404, "\(answer.text)")
    }
}

@Suite(.timeLimit(.minutes(10))) final class StoredDecisionTests {
    private static let path = "/admin/destinations/default"

    let directory = TemporaryDirectory()
    let sandbox: SandboxPartner

    init() throws { sandbox = try SandboxPartner(.silent) }

    @Test("A decision overrides the file after a restart and a reload, until its reset")
    func restart() throws {
        func topic(_ gateway: Gateway) -> String? {
            gateway.configuration.withLock { $0.destinations[0].labels.topic }
        }
        do {
            let trial = try SandboxedGateway.gateway(sandbox, directory)
            defer { trial.stop(within: .zero) }
            let body = #"{"topic":"kept","max_bytes":"1GiB"}"#
            #expect(try trial.admin.ask("PATCH", Self.path, body).status == 200)
            let reset = #"{"max_bytes":null}"#
            #expect(try trial.admin.ask("PATCH", Self.path, reset).status == 200)
        }
        let again = try SandboxedGateway.gateway(sandbox, directory)
        defer { again.stop(within: .zero) }
        #expect(topic(again) == "kept")
        #expect(again.configuration.withLock { $0.destinations[0].backlog.bytesMax } == nil)
        again.configurationReload.reread()
        #expect(topic(again) == "kept")
        let answer = try again.admin.ask("DELETE", Self.path)
        #expect(answer.status == 200)
        #expect(topic(again) == "")
        #expect(answer.text.contains(#""decided":{}"#))
    }

    @Test("A stored decision that conflicts with the file is ignored and shown")
    func leftOut() throws {
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
            let answer = try gateway.admin.ask("PATCH", Self.path, #"{"topic":"kept"}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        isBroken.withLock { $0 = true }
        let again = try gateway()
        defer { again.stop(within: .zero) }
        #expect(again.configuration.withLock { $0.destinations[0].labels.topic } == "")
        let shown = try again.admin.ask("GET", Self.path)
        #expect(shown.text.contains(#""decided_and_left_out":{"topic":"kept"}"#), "\(shown.text)")
    }

    @Test(
        "A stored decision is shown, and whether it is in force",
        arguments: [("5", "decided"), ("0", "decided_and_left_out")]
    )
    func shownDecision(value: String, member: String) throws {
        do {
            let gateway = try SandboxedGateway.gateway(sandbox, directory)
            defer { gateway.stop(within: .zero) }
            let earlier = Decision(
                ["destination/default": Array(#"{"max_logstores":"\#(value)"}"#.utf8)],
                AuditEntry(actor: "a", address: "b", action: "patch", subject: "default")
            )
            #expect(gateway.store.decisions.store(earlier) == nil)
        }
        let gateway = try SandboxedGateway.gateway(sandbox, directory)
        defer { gateway.stop(within: .zero) }
        let shown = try gateway.admin.ask("GET", Self.path)
        let decision = #""\#(member)":{"max_logstores":"\#(value)"}"#
        #expect(shown.text.contains(decision), "\(shown.text)")
    }
}
