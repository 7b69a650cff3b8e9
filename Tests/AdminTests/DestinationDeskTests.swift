import Delivery
import Foundation
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

@Suite(.timeLimit(.minutes(1))) struct DestinationDeskTests {
    private static let path = "/admin/destinations/default"

    private func ask(
        _ trial: SandboxedGateway,
        _ method: String,
        _ path: String = path,
        _ body: String = "",
        ifMatch: String? = nil
    ) throws -> TestAnswer {
        var head =
            "authorization: Bearer \(SandboxedGateway.token)\r\nhost: h\r\nconnection: close\r\n"
        if !body.isEmpty { head += "content-type: application/json\r\n" }
        if let ifMatch { head += "if-match: \(ifMatch)\r\n" }
        head += "content-length: \(body.utf8.count)\r\n"
        return try trial.admin.exchange(
            Array("\(method) \(path) HTTP/1.1\r\n\(head)\r\n\(body)".utf8)
        )
    }

    private func document(_ answer: TestAnswer) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
    }

    private func settings(_ answer: TestAnswer) throws -> [String: Any] {
        try #require(try document(answer)["settings"] as? [String: Any])
    }

    private func post(_ trial: SandboxedGateway, _ number: Int) throws -> Int {
        try trial.devices.post("/logs/hello", #"{"number":\#(number)}"#.utf8).status
    }

    @Test("A patch applies to the next log, and the answer lists decisions that override the file")
    func patch() throws {
        let trial = try SandboxedGateway()
        let answer = try ask(
            trial,
            "PATCH",
            Self.path,
            #"{"topic":"night","packet":{"logs":7},"tags":{"env":"prod"},"concurrency":3}"#
        )
        #expect(answer.status == 200, "\(answer.text)")
        let settings = try settings(answer)
        #expect(settings["topic"] as? String == "night")
        #expect(settings["concurrency"] as? Int == 3)
        let packet = try #require(settings["packet"] as? [String: Any])
        #expect(packet["logs"] as? Int == 7 && packet["bytes"] as? Int == 1 << 20)
        let decided = try #require(try document(answer)["decided"] as? [String: Any])
        #expect(Set(decided.keys) == ["topic", "packet", "tags", "concurrency"])
        #expect(try post(trial, 1) == 200)
        #expect(trial.delivered(1))
        let arrived = try TestClient(address: trial.sandbox.address).get("/logs?logstore=hello")
            .text
        #expect(arrived.contains(#""__topic__":"night""#), "\(arrived)")
    }

    @Test("A patch that makes the configuration invalid is refused as a whole, with all reasons")
    func invalid() throws {
        let trial = try SandboxedGateway()
        let answer = try ask(
            trial,
            "PATCH",
            Self.path,
            #"{"topic":"new","concurrency":"none","colour":"red","packet":{"logs":0}}"#
        )
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
        let trial = try SandboxedGateway()
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
        let trial = try SandboxedGateway()
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
        let answer = try TestClient(address: gateway.adminAddress).send(
            "PATCH",
            Self.path,
            Array(#"{"credential":"new"}"#.utf8),
            [
                "authorization": "Bearer \(SandboxedGateway.token)",
                "content-type": "application/json",
            ]
        )
        #expect(answer.status == 400 && answer.text.contains("no credential new"), "\(answer.text)")
    }

    @Test("A patch does not substitute variables or files")
    func substitution() throws {
        let trial = try SandboxedGateway()
        let answer = try ask(
            trial,
            "PATCH",
            Self.path,
            #"{"topic":"${SLUICE_ADMIN_TOKEN}","source":"${file:/etc/hostname}"}"#
        )
        #expect(try settings(answer)["topic"] as? String == "${SLUICE_ADMIN_TOKEN}")
        #expect(try settings(answer)["source"] as? String == "${file:/etc/hostname}")
    }

    @Test("A proxy with a password is refused, because decisions are stored unencrypted")
    func password() throws {
        let trial = try SandboxedGateway()
        let answer = try ask(
            trial,
            "PATCH",
            Self.path,
            #"{"proxy":"http://u:canary-password@10.0.0.1:3128"}"#
        )
        #expect(answer.status == 400)
        #expect(!answer.text.contains("canary"))
    }

    @Test("A test of a destination answers for each kind without delivering a log")
    func test() throws {
        let trial = try SandboxedGateway()
        let answer = try ask(trial, "POST", Self.path + "/test")
        #expect(answer.status == 200, "\(answer.text)")
        #expect(
            try document(answer)["message"] as? String
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
        let file = try document(ask(others, "POST", "/admin/destinations/archive/test"))
        #expect(file["verdict"] as? String == "accepted", "\(file)")
        #expect(file["endpoint"] as? String == "\(folder.path)/a.ndjson")
        let output = try document(ask(others, "POST", "/admin/destinations/console/test"))
        #expect(output["endpoint"] as? String == "stdout", "\(output)")
        #expect(others.gateway.report.queue.ledger.accepted == 0)
    }

    @Test("The second of two changes with the same If-Match version is refused")
    func versions() throws {
        let trial = try SandboxedGateway()
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
        let trial = try SandboxedGateway()
        #expect(try ask(trial, "PATCH", Self.path, #"{"topic":"a"}"#).status == 200)
        var others: [String: [UInt8]] = [:]
        for number in 1..<Decision.settingsMax { others["held/other-\(number)"] = [1] }
        let filler = Decision(
            others,
            AuditEntry(actor: "a", address: "b", action: "fill", subject: "all")
        )
        #expect(trial.gateway.store.store(filler) == nil)
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
        let trial = try SandboxedGateway()
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
            let answer = try TestClient(address: gateway.adminAddress).send(
                "POST",
                Self.path + "/pause",
                [],
                ["authorization": "Bearer \(SandboxedGateway.token)"]
            )
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
        let trial = try SandboxedGateway()
        #expect(try post(trial, 1) == 200)
        #expect(trial.delivered(1))
        let ledger = try document(try trial.admin("/admin/ledger"))
        #expect(ledger["closed"] as? Bool == true)
        let own = (ledger["destinations"] as? [String: Any])?["default"] as? [String: Any]
        #expect(own?["delivered"] as? Int == 1 && own?["imbalance"] as? Int == 0)
        let queue = try document(try trial.admin("/admin/queue"))
        #expect((queue["destinations"] as? [String: Any])?["default"] != nil)
        let list = try document(try trial.admin("/admin/destinations"))
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
        let trial = try SandboxedGateway()
        let answer = try ask(trial, method, path, method == "PATCH" ? "{}" : "")
        #expect(answer.status == 404, "\(answer.text)")
    }
}
