import Crypto
import Foundation
import Ingest
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

/// Exports in pieces, and the memory of all captures.
@Suite(.timeLimit(.minutes(10))) struct CaptureExportTests {
    /// Captures so many requests of some 50 KiB, and returns the capture's id.
    private func capture(_ count: Int, in trial: SandboxedGateway) throws -> String {
        let id = try trial.startCapture(#"{"records":1000,"bytes":67108864}"#)
        let members = (0..<50).map { #""f\#($0)":"\#(String(repeating: "x", count: 1000))""# }
        let log = Array("{\(members.joined(separator: ","))}".utf8)
        for _ in 0..<count {
            #expect(try trial.devices.post("/logs/app", log).status == 200)
        }
        return id
    }

    @Test("An archive and an export of many records are whole documents")
    func pieces() throws {
        let trial = try SandboxedGateway()
        let id = try capture(30, in: trial)
        #expect(eventually { (try? trial.captureEntries(id).count) == 30 })
        let log = try #require(
            try trial.object("/admin/captures/\(id)/har")["log"] as? [String: Any]
        )
        let entries = try #require(log["entries"] as? [[String: Any]])
        let own = entries.compactMap { $0["_sluice"] as? [String: Any] }
        let numbers = own.filter { $0["role"] as? String == "ingest" }.map { $0["record"] as? Int }
        #expect(numbers == Array(1...30))
        let export = try trial.admin("/admin/captures/\(id)/export")
        #expect(export["content-type"] == "application/x-ndjson")
        let lines = export.lines
        #expect(lines.count == 30)
        for line in lines {
            #expect(throws: Never.self) {
                try JSONSerialization.jsonObject(with: Data(line.utf8))
            }
        }
        let empty = try trial.startCapture()
        let nothing = try trial.object("/admin/captures/\(empty)/har")["log"] as? [String: Any]
        #expect((nothing?["entries"] as? [Any])?.isEmpty == true)
        let head = try trial.admin.ask("HEAD", "/admin/captures/\(id)/har")
        #expect(head.status == 200 && head.body.isEmpty)
    }

    @Test("Clients that do not read their exports hold no thread, and two exports of each token")
    func unread() throws {
        let others = ["monitor", "backup"].map { "\($0)-0123456789abcdef0123456789" }
        let trial = try SandboxedGateway { configuration in
            for token in others {
                configuration.admin.tokens.append(
                    NamedToken(name: String(token.prefix(6)), secret: Secret(token), role: .read)
                )
            }
        }
        let id = try capture(60, in: trial)
        let path = "/admin/captures/\(id)/export"
        func begin(_ token: String) throws -> TestConnection {
            try trial.admin.opened(
                sending: "GET \(path) HTTP/1.1\r\nhost: h\r\nauthorization: Bearer \(token)\r\n\r\n"
            )
        }
        func head(_ token: String) -> Int? {
            try? trial.admin.ask("HEAD", path, token: token).status
        }
        let token = SandboxedGateway.token
        let lazy = try (0..<AdminShares(4).ofToken).map { _ in try begin(token) }
        for each in lazy { #expect(each.receives("200")) }
        // The thread for long reads is free for others.
        let test = try trial.admin.ask("POST", "/admin/routes/test", #"{"tag":"a"}"#)
        #expect(test.status == 200, "\(test.text)")
        let refused = try trial.admin(path)
        #expect(refused.status == 503 && refused.text.contains("of a token"), "\(refused.text)")
        // Another token has its own, until all are taken.
        let more = try (0..<AdminShares(4).ofToken).map { _ in try begin(others[0]) }
        for each in more { #expect(each.receives("200")) }
        #expect(head(others[1]) == 503)
        // Each gateway counts its own.
        let other = try SandboxedGateway()
        let its = try capture(1, in: other)
        #expect(try other.admin("/admin/captures/\(its)/export").status == 200)
        for each in lazy { each.reset() }
        #expect(eventually { head(token) == 200 && head(others[1]) == 200 })
    }

    @Test("All captures together keep limits.captures, and removing one makes room")
    func budget() throws {
        let trial = try SandboxedGateway { $0.limits.captureBytes = 1 << 20 }
        let id = try capture(20, in: trial)
        func object(_ id: String) throws -> [String: Any] {
            try trial.object("/admin/captures/\(id)")
        }
        #expect(eventually { (try? object(id)["state"] as? String) == "full" })
        // Another one takes what is left for small requests, and then has nothing.
        let small = try trial.startCapture(#"{"records":1000}"#)
        for _ in 0..<200 where try object(small)["state"] as? String == "running" {
            #expect(try trial.devices.post("/logs/app", #"{"a":"1"}"#.utf8).status == 200)
        }
        let bytes = trial.gateway.report.looks.captureBytes
        #expect((900 << 10...1 << 20).contains(bytes), "\(bytes)")
        #expect(try trial.admin("/metrics").text.contains("\nsluice_captures_bytes \(bytes)\n"))
        let path = "/admin/captures"
        func start() throws -> TestAnswer { try trial.admin.ask("POST", path, "{}") }
        var last = try start()
        for _ in 0..<20 where last.status == 201 {
            #expect(try trial.devices.post("/logs/app", #"{"a":"1"}"#.utf8).status == 200)
            last = try start()
        }
        #expect(last.status == 409, "\(last.text)")
        #expect(try trial.admin.ask("DELETE", "\(path)/\(id)").status == 204)
        #expect(eventually { trial.gateway.report.looks.captureBytes < bytes / 2 })
    }
}

/// Captured requests that are sent again.
@Suite(.timeLimit(.minutes(10))) struct CaptureReplayTests {
    private func send(
        _ trial: SandboxedGateway,
        _ id: String,
        _ record: Int = 1
    ) throws -> TestAnswer {
        let path = "/admin/captures/\(id)/records/\(record)/replay?dry=false"
        return try trial.admin.ask("POST", path)
    }

    /// The lines of the sandbox's logs.
    private func arrived(_ trial: SandboxedGateway, _ logstore: String) throws -> [Substring] {
        try TestClient(address: trial.sandbox.address).get("/logs?logstore=\(logstore)").text
            .split(separator: "\n")
    }

    @Test("Logs that are sent again arrive as they came, with a mark and a receipt of their own")
    func sends() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        let body = #"[{"__time__":1763700000.25,"m":"1"},{"m":"2"}]"#
        let first = try trial.devices.post("/logs/app?topic=t&source=s", body.utf8)
        #expect(first.status == 200)
        #expect(trial.delivered(2))
        let answer = try send(trial, id)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(
            answer.text.hasSuffix(
                #""logs":2,"left_out":0,"filtered":0,"dropped":0,"copies":2}"# + "\n"
            ),
            "\(answer.text)"
        )
        let receipt = try #require(answer.text.firstMatch(of: /"receipt":"([0-9A-F]{24})"/)?.1)
        #expect(!first.text.contains(receipt))
        #expect(trial.delivered(4))
        let logs = try arrived(trial, "app")
        let mark = #""__tag__:sluice_replay":"\#(id)""#
        #expect(logs.count { $0.contains(mark) } == 2, "\(logs)")
        #expect(logs.count { $0.contains(#""__source__":"s""#) } == 4, "\(logs)")
        #expect(logs.count { $0.contains("1763700000") } == 2, "\(logs)")
        let ledger = trial.gateway.report.queue.ledger
        #expect(ledger.accepted == 4 && ledger.isClosed)
        let audit = try trial.admin("/admin/audit").text
        #expect(audit.contains("replay capture") && audit.contains("receipt \(receipt)"))
    }

    @Test("Logs that are sent again take the filters and routes of now")
    func routesOfNow() throws {
        let keys = ["ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
        let dropping = try read(
            minimal + "filters: [{ match: \"app.**\", steps: [{ drop: true }] }]\n",
            keys
        ).routing
        let adding = try read(
            minimal + "filters: [{ match: \"app.**\", steps: [{ add: { env: prod } }] }]\n",
            keys
        ).routing
        let trial = try SandboxedGateway { $0.routing = dropping }
        let id = try trial.startCapture()
        #expect(try trial.devices.post("/logs/app.x", #"{"m":"lost"}"#.utf8).status == 200)
        #expect(trial.gateway.report.queue.ledger.accepted == 0)
        // Still dropped, and told so.
        #expect(try send(trial, id).text.contains(#""filtered":1,"dropped":0,"copies":0"#))
        let new = try SandboxedGateway.configuration(trial.sandbox, trial.directory) {
            $0.routing = adding
        }
        trial.gateway.reload(new)
        #expect(eventually { (try? send(trial, id).text.contains(#""copies":1"#)) == true })
        #expect(trial.delivered(1))
        #expect(try arrived(trial, "app").contains { $0.contains(#""env":"prod""#) })
    }

    @Test(
        "What is not kept whole is not sent again, and the answer says why",
        arguments: [
            (#"{"token":"canary"}"#, "log 1 has masked secrets"),
            (#"{"m":"\#(String(repeating: "x", count: 9000))"}"#, "log 1 has a long value"),
            (
                "[\(Array(repeating: #"{"m":"1"}"#, count: 101).joined(separator: ","))]",
                "only the first 100 of its 101 logs"
            ),
            ("{bad", "no logs"),
        ]
    )
    func refuses(body: String, reason: String) throws {
        let (trial, id) = try SandboxedGateway.capturing()
        _ = try trial.devices.post("/logs/app", body.utf8)
        let accepted = trial.gateway.report.queue.ledger.accepted
        let answer = try send(trial, id)
        #expect(answer.status == 409)
        #expect(answer.text.contains(reason), "\(answer.text)")
        #expect(trial.gateway.report.queue.ledger.accepted == accepted)
    }

    @Test("A request that named a project goes there alone, dry and for real")
    func namedProject() throws {
        let keys = ["ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
        let nowhere = try read(minimal + "routes: [{ match: \"**\", to: [] }]\n", keys).routing
        let trial = try SandboxedGateway { $0.routing = nowhere }
        let id = try trial.startCapture()
        let project = trial.gateway.configuration.withLock { $0.destinations[0].project }
        let fields: KeyValuePairs = ["x-log-project": project]
        #expect(try trial.devices.post("/logs/app", #"{"m":"1"}"#.utf8, fields).status == 200)
        let path = "/admin/captures/\(id)/records/1/replay"
        let dry = try trial.admin.ask("POST", path).text
        #expect(dry.contains(#""changes":[]"#), "\(dry)")
        #expect(try send(trial, id).text.contains(#""copies":1"#))
    }

    @Test("Logs that were dropped as they came are left out, and hinder nothing")
    func droppedOnArrival() throws {
        let trial = try SandboxedGateway { $0.destinations[0].intake.lateLogs = .drop }
        let id = try trial.startCapture()
        let body = #"[{"__time__":1000000000,"m":"old"},{"m":"new"}]"#
        #expect(try trial.devices.post("/logs/app", body.utf8).status == 200)
        let answer = try send(trial, id).text
        #expect(
            answer.contains(#""logs":1,"left_out":1,"filtered":0,"dropped":0,"copies":1"#),
            "\(answer)"
        )
    }

    @Test("Sending again needs a full token, the word false, and no edited rules")
    func rights() throws {
        let reader = "reader-0123456789abcdef0123456789"
        let trial = try SandboxedGateway {
            $0.admin.tokens.append(
                NamedToken(name: "grafana", secret: Secret(reader), role: .read)
            )
        }
        let id = try trial.startCapture()
        _ = try trial.devices.post("/logs/app", #"{"m":"1"}"#.utf8)
        let path = "/admin/captures/\(id)/records/1/replay"
        for (dry, status) in [("", 200), ("?dry=true", 200), ("?dry=false", 403)] {
            #expect(try trial.admin.ask("POST", path + dry, token: reader).status == status)
        }
        #expect(try trial.admin.ask("POST", "\(path)?dry=no").status == 400)
        let edited = try trial.admin.ask("POST", "\(path)?dry=false", #"{"filters":[]}"#)
        #expect(edited.status == 400)
        #expect(trial.gateway.report.queue.ledger.accepted == 1)
    }

    @Test("A draining gateway sends nothing again")
    func draining() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        _ = try trial.devices.post("/logs/app", #"{"m":"1"}"#.utf8)
        #expect(try trial.admin.ask("POST", "/admin/drain").status < 300)
        #expect(eventually { (try? send(trial, id).status) == 503 })
    }

    @Test("Expressions that do not compile count, too: few are tried")
    func failingExpressions() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        #expect(try trial.devices.post("/logs/app", #"{"a":"1"}"#.utf8).status == 200)
        let step = #"{"drop":true,"when":{"field":"a","matches":"([\\pL]{100}){9}"}}"#
        let steps = Array(repeating: step, count: 50).joined(separator: ",")
        let filters = Array(repeating: #"{"steps":[\#(steps)]}"#, count: 12).joined(separator: ",")
        let path = "/admin/captures/\(id)/records/1/replay"
        let answer = try trial.admin.ask("POST", path, #"{"filters":[\#(filters)]}"#)
        let told = answer.text.ranges(of: "too large").count
        #expect(answer.status == 400 && (1...21).contains(told), "\(answer.text)")
    }

    @Test("Edited filters whose expressions are too large together are refused with the key")
    func largeExpressions() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        #expect(try trial.devices.post("/logs/app", #"{"a":"1"}"#.utf8).status == 200)
        let step = #"{"drop":true,"when":{"field":"a","matches":"[\\pL]{25}"}}"#
        let steps = Array(repeating: step, count: 50).joined(separator: ",")
        let filters = Array(repeating: #"{"steps":[\#(steps)]}"#, count: 20).joined(separator: ",")
        let body = #"{"filters":[\#(filters)]}"#
        #expect(body.utf8.count < 64 << 10)
        let path = "/admin/captures/\(id)/records/1/replay"
        let answer = try trial.admin.ask("POST", path, body)
        #expect(answer.status == 400)
        #expect(answer.text.contains("ConfigurationInvalid"), "\(answer.text)")
        #expect(answer.text.contains("instructions"), "\(answer.text)")
        // Once, not for each expression behind it.
        #expect(answer.text.ranges(of: "instructions").count == 1)
        #expect(answer.text.contains(".when.matches"), "\(answer.text)")
    }
}
