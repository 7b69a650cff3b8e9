import Configuration
import Foundation
import Ingest
import Logs
import Queue
import Rendering
import Routing
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct CaptureDeskTests {
    private let json = SandboxedGateway.json

    private static let debugDropped = """
        - match: "app.**"
          steps: [{ drop: true, when: { field: level, is: debug } }]
        """

    @Test("A capture keeps what came, what was decided, and the answer")
    func record() throws {
        let filters = try routingRules("filters:\n" + Self.debugDropped)
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try trial.startCapture()
        let body = #"[{"level":"debug","n":"1"},{"level":"error","n":"2"}]"#
        #expect(try trial.devices.post("/logs/app.home?x=1", body.utf8).status == 200)
        #expect(try trial.devices.post("/logs/app.home", "{bad".utf8).status == 400)
        #expect(eventually { (try? trial.captureEntries(id).count) == 2 })
        let path = "/admin/captures/\(id)/records"
        let record = try trial.object("\(path)/1")
        #expect(record["path"] as? String == "/logs/app.home")
        #expect(record["query"] as? String == "x=1")
        #expect(record["tag"] as? String == "app.home")
        let kept = try #require(record["body"] as? [String: Any])
        #expect(kept["text"] as? String == body)
        #expect(kept["bytes"] as? Int == body.utf8.count)
        let logs = try #require(record["logs"] as? [[String: Any]])
        #expect((logs[0]["before"] as? [String: String])?["n"] == "1")
        #expect(logs[0]["after"] is NSNull)
        #expect(logs[0]["reason"] as? String == "dropped by filters[0]")
        #expect((logs[1]["after"] as? [String: String])?["n"] == "2")
        #expect(logs[1]["destinations"] as? [String] == ["default"])
        let steps = try #require(record["decisions"] as? [[String: String]]).map { $0["step"] }
        #expect(steps == ["route", "key", "filters and routes", "queue"])
        let answer = try #require(record["answer"] as? [String: Any])
        #expect(answer["status"] as? Int == 200)
        #expect((answer["body"] as? String)?.contains(record["receipt"] as? String ?? "?") == true)
        let refused = try trial.object("\(path)/2")
        #expect((refused["answer"] as? [String: Any])?["code"] as? String == "PostBodyInvalid")
        #expect((refused["body"] as? [String: Any])?["text"] as? String == "{bad")
    }

    @Test("A compressed body is shown inflated")
    func compressed() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        let body = Array(#"{"a":"1"}"#.utf8)
        let answer = try trial.devices.post(
            "/logs/app",
            Gzip.compress(body),
            ["content-encoding": "gzip"]
        )
        #expect(answer.status == 200)
        let record = try trial.object("/admin/captures/\(id)/records/1")
        #expect((record["decoded"] as? [String: Any])?["text"] as? String == #"{"a":"1"}"#)
        #expect((record["body"] as? [String: Any])?["text"] is NSNull)
    }

    private func upstream(_ trial: SandboxedGateway, _ path: String) throws -> [[String: Any]] {
        try #require(try trial.object(path)["upstream"] as? [[String: Any]])
    }

    @Test("A record shows each attempt to deliver its logs, and no other")
    func attempts() throws {
        let trial = try SandboxedGateway()
        let path = "/admin/destinations/default"
        _ = try trial.admin.ask("POST", "\(path)/pause")
        let id = try trial.startCapture(#"{"filter":{"path":"/logs/app"}}"#)
        _ = try trial.devices.post("/logs/other", #"{"n":"0"}"#.utf8)
        for number in 1...2 { _ = try trial.devices.post("/logs/app\(number)", #"{"n":"1"}"#.utf8) }
        let records = "/admin/captures/\(id)/records"
        #expect(try trial.object("\(records)/1")["delivery"] as? String == "waiting")
        #expect(try upstream(trial, "\(records)/1").isEmpty)
        let sandbox = TestClient(address: trial.sandbox.address)
        let fault = #"{"status":503,"code":"ServerBusy","count":1}"#
        #expect(try sandbox.post("/faults", fault.utf8, json).status < 300)
        _ = try trial.admin.ask("POST", "\(path)/resume")
        #expect(
            eventually {
                (1...2).allSatisfy {
                    (try? trial.object("\(records)/\($0)")["delivery"] as? String) == "delivered"
                }
            }
        )
        for number in 1...2 {
            let all = try upstream(trial, "\(records)/\(number)")
            let last = try #require(all.last)
            #expect(last["result"] as? String == "stored")
            #expect(last["status"] as? Int == 200)
            #expect(last["logstore"] as? String == "app\(number)")
            #expect(last["address"] as? String == "127.0.0.1")
            #expect((last["request_id"] as? String)?.isEmpty == false)
            #expect(all.dropLast().allSatisfy { $0["status"] as? Int == 503 })
        }
        #expect(eventually { !trial.gateway.devices.captures.wantsAttempts })
    }

    @Test("An archive has the attempts to deliver, and the logs of a body that is not kept")
    func archive() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        let body = Array(#"{"m":""#.utf8) + [0xff] + Array(#""}"#.utf8)
        #expect(try trial.devices.post("/logs/app", body).status == 200)
        let path = "/admin/captures/\(id)/records/1"
        #expect(eventually { (try? upstream(trial, path).count) == 1 })
        let log = try #require(
            try trial.object("/admin/captures/\(id)/har")["log"] as? [String: Any]
        )
        let entries = try #require(log["entries"] as? [[String: Any]])
        try #require(entries.count == 2)
        let request = try #require(entries[0]["request"] as? [String: Any])
        let content = try #require(request["postData"] as? [String: String])
        #expect(content["mimeType"] == "application/json")
        #expect(content["text"]?.contains(#""m":"\#u{fffd}""#) == true, "\(content)")
        let sent = try #require(entries[1]["request"] as? [String: Any])
        #expect((sent["url"] as? String)?.hasPrefix("http://") == true, "\(sent)")
        #expect((entries[1]["response"] as? [String: Any])?["status"] as? Int == 200)
        let own = try #require(entries[1]["_sluice"] as? [String: Any])
        #expect(own["role"] as? String == "upstream" && own["decision"] as? String == "stored")
    }

    @Test("A refused log leads from its record to the dead letter's reason")
    func refusedUpstream() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        let sandbox = TestClient(address: trial.sandbox.address)
        let poison = #"{"key":"bad","code":"PostBodyInvalid"}"#
        #expect(try sandbox.post("/poisons", poison.utf8, json).status < 300)
        _ = try trial.devices.post("/logs/app", #"[{"bad":"1"},{"good":"1"}]"#.utf8)
        let path = "/admin/captures/\(id)/records/1"
        #expect(
            eventually {
                (try? upstream(trial, path))?.contains { $0["result"] as? String == "stored" }
                    == true
            }
        )
        let all = try upstream(trial, path)
        #expect(
            all.contains {
                $0["result"] as? String == "split" && $0["code"] as? String == "PostBodyInvalid"
            }
        )
        #expect(eventually { (try? trial.object(path)["delivery"] as? String) == "dead" })
        let record = try trial.object(path)
        #expect((record["outcomes"] as? [String: Int])?["delivered"] == 1)
        #expect((record["outcomes"] as? [String: Int])?["dead"] == 1)
        try links(trial, id, record)
    }

    /// The record names its only dead letter, and that names the record.
    private func links(_ trial: SandboxedGateway, _ id: String, _ record: [String: Any]) throws {
        let letters = try #require(record["dead_letters"] as? [Int])
        try #require(letters.count == 1)
        let letter = try trial.object("/admin/dead-letters/\(letters[0])")
        let captures = try #require(letter["captures"] as? [[String: Any]])
        #expect(captures.count == 1)
        #expect(captures.first?["id"] as? String == id)
        #expect(captures.first?["record"] as? Int == record["n"] as? Int)
        let page = try trial.admin("/admin/dead-letters/\(letters[0])").shown(.deadLetter)
        #expect(page.contains("capture \(id), record 1"), "\(page)")
        let shown = try trial.admin("/admin/captures/\(id)/records/1").shown(.captureRecord)
        #expect(shown.contains("dead letters \(letters[0])"), "\(shown)")
    }

    @Test("A log that is dead on arrival leads to its dead letter and back")
    func deadOnArrival() throws {
        let filters = try routingRules("unrouted: dead_letter\nroutes:\n- { match: known, to: [] }")
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try trial.startCapture()
        _ = try trial.devices.post("/logs/stray", #"{"n":"1"}"#.utf8)
        let path = "/admin/captures/\(id)/records/1"
        #expect(eventually { (try? trial.object(path)["delivery"] as? String) == "dead" })
        try links(trial, id, try trial.object(path))
    }

    @Test("A log that is dropped to make room does not wait for ever")
    func dropped() throws {
        let trial = try SandboxedGateway { configuration in
            configuration.destinations[0].backlog.overflow = .dropOldest
            configuration.destinations[0].backlog.bytesMax = 1 << 20
        }
        _ = try trial.admin.ask("POST", "/admin/destinations/default/pause")
        let id = try trial.startCapture(#"{"filter":{"path":"/logs/first"}}"#)
        _ = try trial.devices.post("/logs/first", #"{"n":"1"}"#.utf8)
        var generator = SeededRandom(seed: 1)
        for _ in 0..<8 {
            let noise = (0..<200_000).map { _ in UInt8.random(in: 97...122, using: &generator) }
            let text = String(decoding: noise, as: UTF8.self)
            _ = try trial.devices.post("/logs/second", #"{"n":"\#(text)"}"#.utf8)
        }
        let path = "/admin/captures/\(id)/records/1"
        #expect(eventually { (try? trial.object(path)["delivery"] as? String) == "expired" })
        let record = try trial.object(path)
        #expect((record["outcomes"] as? [String: Int])?["expired"] == 1)
        #expect(try trial.captureEntries(id).first?["delivery"] as? String == "expired")
    }

    @Test("A body that came in chunks is whole")
    func chunked() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        let connection = try trial.devices.opened(
            sending: "POST /logs/app HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
                + "transfer-encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n"
        )
        connection.send(Array("4\r\n\"b\"}\r\n0\r\n\r\n".utf8))
        #expect(String(decoding: connection.readToEnd(), as: UTF8.self).contains("200"))
        let record = try trial.object("/admin/captures/\(id)/records/1")
        #expect((record["body"] as? [String: Any])?["text"] as? String == #"{"a":"b"}"#)
    }

    @Test(
        "Each part of the filter chooses requests",
        arguments: [
            (#"{"path":"/logs/base"}"#, ["/logs/base"]),
            (#"{"path":"/logs/*"}"#, ["/logs/apps.x", "/logs/base"]),
            (#"{"path":"/*s/*s.x"}"#, ["/logs/apps.x"]), (#"{"path":"*ing"}"#, ["/nothing"]),
            (#"{"path":"/l*z"}"#, []),
            (#"{"host":"Gateway.test"}"#, ["/logs/apps.x", "/logs/base", "/nothing"]),
            (#"{"host":"g*y.t*"}"#, ["/logs/apps.x", "/logs/base", "/nothing"]),
            (#"{"host":"gateway.test:1"}"#, []), (#"{"host":"gateway"}"#, []),
            (#"{"host":"other.*"}"#, []),
            (#"{"tag":"apps.**"}"#, ["/logs/apps.x"]),
            (#"{"status":"4xx"}"#, ["/nothing"]),
            (#"{"status":200}"#, ["/logs/apps.x", "/logs/base"]),
            (#"{"text":"needle"}"#, ["/logs/base"]), (#"{"address":"10.0.0.0/8"}"#, []),
            (#"{"address":"127.0.0.1"}"#, ["/logs/apps.x", "/logs/base", "/nothing"]),
            (#"{"key":"ios"}"#, []), (#"{"path":"/logs","status":"5xx"}"#, []),
        ]
    )
    func filter(filter: String, paths: [String]) throws {
        let trial = try SandboxedGateway()
        let wanted = try trial.startCapture(#"{"filter":\#(filter)}"#)
        let all = try trial.startCapture()
        _ = try trial.devices.post("/logs/apps.x", #"{"m":"hay"}"#.utf8)
        _ = try trial.devices.post("/logs/base", #"{"m":"a needle"}"#.utf8)
        _ = try trial.devices.get("/nothing")
        #expect(eventually { (try? trial.captureEntries(all).count) == 3 })
        #expect(try trial.captureEntries(wanted).map { $0["path"] as? String } == paths)
    }

    @Test("A capture ends by itself with its records, its bytes and its time")
    func ends() throws {
        let trial = try SandboxedGateway()
        let one = try trial.startCapture(#"{"records":1}"#)
        let small = try trial.startCapture(#"{"bytes":100}"#)
        for _ in 0..<2 { _ = try trial.devices.post("/logs/app", #"{"m":"1"}"#.utf8) }
        #expect(
            eventually {
                (try? trial.object("/admin/captures/\(one)")["state"] as? String) == "full"
            }
        )
        let tight = try trial.object("/admin/captures/\(small)")
        #expect(tight["state"] as? String == "full")
        #expect(tight["kept"] as? Int == 0)
        #expect(tight["missed"] as? Int == 1)
        let brief = try trial.startCapture(#"{"seconds":1}"#)
        #expect(
            eventually {
                (try? trial.object("/admin/captures/\(brief)")["state"] as? String) == "ended"
            }
        )
        let running = trial.gateway.devices.captures.all.filter(\.isRunning)
        #expect(running.isEmpty)
    }

    @Test("At most four run; one that is removed is gone, with an audit line")
    func bounds() throws {
        let trial = try SandboxedGateway()
        let ids = try (0..<Captures.runningMax).map { _ in try trial.startCapture() }
        #expect(try trial.admin.ask("POST", "/admin/captures", "{}").status == 409)
        let path = "/admin/captures/\(ids[0])"
        #expect(try trial.admin.ask("DELETE", path).status == 204)
        #expect(try trial.admin(path).status == 404)
        _ = try trial.startCapture()
        #expect(
            eventually { (try? trial.admin("/admin/audit").text.contains("stop capture")) == true }
        )
    }

    @Test(
        "A wrong start is refused with the member at fault",
        arguments: [
            ("[]", "object"), (#"{"filter":{"pat":"x"}}"#, "filter.pat"),
            (#"{"records":0}"#, "records"),
            (#"{"seconds":99999}"#, "seconds"), (#"{"filter":{"tag":"a{"}}"#, "filter.tag"),
            (#"{"filter":{"address":"x"}}"#, "filter.address"),
            (#"{"filter":{"status":"9xx"}}"#, "filter.status"),
            ("{", "name"),
        ]
    )
    func wrong(body: String, word: String) throws {
        let trial = try SandboxedGateway()
        let answer = try trial.admin.ask("POST", "/admin/captures", body)
        #expect(answer.status == 400)
        #expect(answer.text.contains(word), "\(answer.text)")
    }

    @Test("A tag that only the body tells chooses requests", arguments: ["2xx", "4xx", nil])
    func tagOfBody(status: String?) throws {
        let trial = try SandboxedGateway.redacting()
        let wanted = status.map { #","status":"\#($0)""# } ?? ""
        let id = try trial.startCapture(#"{"filter":{"tag":"pay.**"\#(wanted)}}"#)
        let push = { (jobs: [String]) in
            let streams = jobs.map { #"{"stream":{"job":"\#($0)"},"values":[["1","m"]]}"# }
            let body = #"{"streams":[\#(streams.joined(separator: ","))]}"#
            let answer = try trial.devices.post("/loki/api/v1/push", body.utf8, json)
            #expect(answer.status == 204, "\(answer.text)")
        }
        try push(["other"])
        try push(["other", "pay.x"])
        try push(["pay.x"])
        let kept = status == "4xx" ? 0 : 2
        #expect(try trial.captureEntries(id).count == kept)
    }

    @Test("A refusal is kept for its tag and status, also before the body has come")
    func refusedEarly() throws {
        let trial = try SandboxedGateway { $0.limits.bodyBytes = 100 }
        let id = try trial.startCapture(#"{"filter":{"tag":"app.**","status":413}}"#)
        for tag in ["app.x", "other"] {
            let body = String(repeating: "x", count: 101).utf8
            #expect(try trial.devices.post("/logs/\(tag)", body).status == 413)
        }
        let kept = try trial.captureEntries(id)
        #expect(kept.map { $0["path"] as? String } == ["/logs/app.x"])
        let record = try trial.object("/admin/captures/\(id)/records/1")
        #expect(record["tag"] as? String == "app.x")
    }

    @Test("A compressed body that was read and refused is kept as text")
    func refusedAfterReading() throws {
        let filters = try routingRules("unrouted: dead_letter\nroutes:\n- { match: known, to: [] }")
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try trial.startCapture(#"{"filter":{"status":"4xx"}}"#)
        let logs = Array(repeating: #"{"m":"1"}"#, count: 10_001).joined(separator: ",")
        let body = Array("[\(logs)]".utf8)
        let answer = try trial.devices.post(
            "/logs/stray",
            LZ4.compress(body),
            ["x-log-compresstype": "lz4", "x-log-bodyrawsize": "\(body.count)"]
        )
        #expect(answer.status >= 400, "\(answer.text)")
        let record = try trial.object("/admin/captures/\(id)/records/1")
        let inflated = record["decoded"] as? [String: Any]
        #expect((inflated?["text"] as? String)?.hasPrefix(#"[{"m":"1"},"#) == true, "\(record)")
    }

    @Test("A log whose result had no room is not shown as dropped")
    func longTrace() throws {
        let steps = "steps: [{ add: { env: prod } }]"
        let filters = try routingRules("filters:\n- { match: app, \(steps) }")
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try trial.startCapture()
        let log = #"{"m":"\#(String(repeating: "x", count: 6000))"}"#
        let body = "[\(Array(repeating: log, count: 100).joined(separator: ","))]"
        #expect(try trial.devices.post("/logs/app", body.utf8).status == 200)
        let path = "/admin/captures/\(id)/records/1"
        let logs = try #require(try trial.object(path)["logs"] as? [[String: Any]])
        let last = try #require(logs.last)
        #expect(last["after"] is NSNull)
        #expect(last["destinations"] as? [String] == ["default"])
        #expect((last["reason"] as? String)?.contains("no room") == true, "\(last)")
        let replay = try trial.admin.ask("POST", "\(path)/replay").text
        #expect(replay.contains(#""changes":[]"#), "\(replay.prefix(500))")
    }

    @Test("A record names the destinations that took the logs")
    func destinations() throws {
        let routes = try routingRules("unrouted: default\nroutes:\n- { match: known, to: [] }")
        let trial = try SandboxedGateway { $0.routing = routes }
        let id = try trial.startCapture()
        for tag in ["stray", "known"] {
            #expect(try trial.devices.post("/logs/\(tag)", #"{"m":"1"}"#.utf8).status == 200)
        }
        #expect(eventually { (try? trial.captureEntries(id).count) == 2 })
        for (number, names) in [(1, ["default"]), (2, [])] {
            let path = "/admin/captures/\(id)/records/\(number)"
            let logs = try #require(try trial.object(path)["logs"] as? [[String: Any]])
            #expect(logs[0]["destinations"] as? [String] == names, "record \(number)")
            let replay = try trial.admin.ask("POST", "\(path)/replay").text
            #expect(replay.contains(#""changes":[]"#), "\(replay.prefix(500))")
        }
    }

    @Test("A replay shows what edited filters would change, and stores nothing")
    func replay() throws {
        let filters = try routingRules("filters:\n" + Self.debugDropped)
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try trial.startCapture()
        _ = try trial.devices.post("/logs/app.x", #"[{"level":"debug"},{"level":"info"}]"#.utf8)
        let path = "/admin/captures/\(id)/records/1/replay"
        let accepted = trial.gateway.report.queue.ledger.accepted
        let same = try trial.admin.ask("POST", path)
        #expect(
            same.text.contains(#""configuration":"present","logs":2,"left_out":0,"changes":[]"#)
        )
        let rules = #"{"filters":[{"match":"app.**","steps":[{"add":{"env":"prod"}}]}]}"#
        let edited = try trial.admin.ask("POST", path, rules)
        #expect(edited.status == 200, "\(edited.text)")
        #expect(edited.text.contains(#""env":{"was":null,"is":"prod"}"#), "\(edited.text)")
        #expect(edited.text.contains(#""destinations":{"was":[],"is":["default"]}"#))
        let wrong = try trial.admin.ask("POST", path, #"{"filters":[{"match":"a{"}]}"#)
        #expect(wrong.status == 400)
        #expect(trial.gateway.report.queue.ledger.accepted == accepted)
    }

    @Test(
        "A curl line gives sh the same request",
        arguments: [
            "it's", "a b", "$HOME `x` \\", "@file", "é\u{200b}", "a\nb",
            "!x \u{9b}201~ \u{202e}\u{7f}",
            "raw \u{1b}[201~\u{15}touch stolen\n", "raw \u{1}\0%s\t-n\n\n",
        ]
    )
    func curl(text: String) throws {
        let (trial, id) = try SandboxedGateway.capturing()
        var body = Array(text.utf8)
        if !text.hasPrefix("raw") {
            body = Array(#"{"m":"#.utf8)
            body += try JSONEncoder().encode(text) + Array("}".utf8)
        }
        _ = try trial.devices.post("/logs/app?q=[x]", body, ["x-empty": "", "user-agent": "don't"])
        let line = try trial.admin("/admin/captures/\(id)/records/1/curl").text
        #expect(line.contains("curl --globoff --path-as-is --request POST --url 'http://"))
        #expect(
            !line.dropLast().unicodeScalars.contains {
                $0.properties.generalCategory == .control || $0.properties.isBidiControl
            }
        )
        // Sent through sh to the gateway itself, it is captured again.
        let target = "http://\(trial.gateway.deviceAddress)"
        let host = try #require(line.firstMatch(of: /http:\/\/[^\/]+/)?.0)
        let shell = try ChildProcess(["/bin/sh", "-c", line.replacing(host, with: target)])
        #expect(shell.wait() == 0)
        #expect(eventually { (try? trial.captureEntries(id).count) == 2 })
        let (one, other) = (
            try trial.object("/admin/captures/\(id)/records/1"),
            try trial.object("/admin/captures/\(id)/records/2")
        )
        for name in ["path", "query", "method"] {
            #expect(one[name] as? String == other[name] as? String, "\(name)")
        }
        let hash = (one["body"] as? [String: Any])?["sha256"] as? String
        #expect(hash != nil && hash == (other["body"] as? [String: Any])?["sha256"] as? String)
        let fields = try #require(other["head"] as? [[String]])
        #expect(fields.contains(["user-agent", "don't"]) && fields.contains(["x-empty", ""]))
    }

    @Test("Refused requests are remembered without a capture, newest first, with their reasons")
    func refusals() throws {
        let trial = try SandboxedGateway()
        _ = try trial.devices.get("/nothing?password=x", ["user-agent": "app/1"])
        _ = try trial.devices.post("/logs/app", "{".utf8)
        let answer = try trial.object("/admin/refusals")
        let all = try #require(answer["refusals"] as? [[String: Any]])
        #expect(all.map { $0["code"] as? String } == ["PostBodyInvalid", "PathNotExist"])
        #expect(all[1]["agent"] as? String == "app/1")
        #expect((all[1]["query"] as? String)?.hasPrefix("password=[redacted 1 bytes #") == true)
        for _ in 0..<300 { _ = try? trial.devices.get("/nothing") }
        let later = try trial.object("/admin/refusals")
        #expect(
            try #require(later["refusals"] as? [[String: Any]]).count <= RefusedRequests.countMax
        )
    }
}
