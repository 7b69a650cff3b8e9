import Configuration
import Foundation
import Ingest
import Logs
import Queue
import Routing
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(1))) struct CaptureDeskTests {
    private let json: KeyValuePairs = [
        "authorization": "Bearer \(SandboxedGateway.token)", "content-type": "application/json",
    ]

    private func start(_ trial: SandboxedGateway, _ body: String = "{}") throws -> String {
        let answer = try trial.admin.post("/admin/captures", body.utf8, json)
        #expect(answer.status == 201, "\(answer.text)")
        let location = try #require(answer["location"])
        return String(location.split(separator: "/")[2])
    }

    private func object(_ trial: SandboxedGateway, _ path: String) throws -> [String: Any] {
        let answer = try trial.admin(path)
        #expect(answer.status == 200, "\(answer.text)")
        let value = try JSONSerialization.jsonObject(with: Data(answer.body))
        return try #require(value as? [String: Any])
    }

    private func entries(_ trial: SandboxedGateway, _ id: String) throws -> [[String: Any]] {
        try #require(try object(trial, "/admin/captures/\(id)")["entries"] as? [[String: Any]])
    }

    private func rules(_ text: String) throws -> RoutingRules {
        let keys = ["ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
        return try read(minimal + text + "\n", keys).routing
    }

    private static let debugDropped = """
        - match: "app.**"
          steps: [{ drop: true, when: { field: level, is: debug } }]
        """

    @Test("A capture keeps what came, what was decided, and the answer")
    func record() throws {
        let filters = try rules("filters:\n" + Self.debugDropped)
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try start(trial)
        let body = #"[{"level":"debug","n":"1"},{"level":"error","n":"2"}]"#
        #expect(try trial.devices.post("/logs/app.home?x=1", body.utf8).status == 200)
        #expect(try trial.devices.post("/logs/app.home", "{bad".utf8).status == 400)
        #expect(eventually { (try? entries(trial, id).count) == 2 })
        let path = "/admin/captures/\(id)/records"
        let record = try object(trial, "\(path)/1")
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
        let refused = try object(trial, "\(path)/2")
        #expect((refused["answer"] as? [String: Any])?["code"] as? String == "PostBodyInvalid")
        #expect((refused["body"] as? [String: Any])?["text"] as? String == "{bad")
    }

    @Test("A compressed body is shown inflated")
    func compressed() throws {
        let trial = try SandboxedGateway()
        let id = try start(trial)
        let body = Array(#"{"a":"1"}"#.utf8)
        let answer = try trial.devices.post(
            "/logs/app",
            Gzip.compress(body),
            ["content-encoding": "gzip"]
        )
        #expect(answer.status == 200)
        let record = try object(trial, "/admin/captures/\(id)/records/1")
        #expect((record["decoded"] as? [String: Any])?["text"] as? String == #"{"a":"1"}"#)
        #expect((record["body"] as? [String: Any])?["text"] is NSNull)
    }

    private func upstream(_ trial: SandboxedGateway, _ path: String) throws -> [[String: Any]] {
        try #require(try object(trial, path)["upstream"] as? [[String: Any]])
    }

    @Test("A record shows each attempt to deliver its logs, and no other")
    func attempts() throws {
        let trial = try SandboxedGateway()
        let token: KeyValuePairs = ["authorization": "Bearer \(SandboxedGateway.token)"]
        let path = "/admin/destinations/default"
        _ = try trial.admin.post("\(path)/pause", [UInt8](), token)
        let id = try start(trial, #"{"filter":{"path":"/logs/app"}}"#)
        _ = try trial.devices.post("/logs/other", #"{"n":"0"}"#.utf8)
        for number in 1...2 { _ = try trial.devices.post("/logs/app\(number)", #"{"n":"1"}"#.utf8) }
        let records = "/admin/captures/\(id)/records"
        #expect(try object(trial, "\(records)/1")["delivery"] as? String == "waiting")
        #expect(try upstream(trial, "\(records)/1").isEmpty)
        let sandbox = TestClient(address: trial.sandbox.address)
        let fault = #"{"status":503,"code":"ServerBusy","count":1}"#
        #expect(try sandbox.post("/faults", fault.utf8, json).status < 300)
        _ = try trial.admin.post("\(path)/resume", [UInt8](), token)
        #expect(
            eventually {
                (1...2).allSatisfy {
                    (try? object(trial, "\(records)/\($0)")["delivery"] as? String) == "delivered"
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
        let trial = try SandboxedGateway()
        let id = try start(trial)
        let body = Array(#"{"m":""#.utf8) + [0xff] + Array(#""}"#.utf8)
        #expect(try trial.devices.post("/logs/app", body).status == 200)
        let path = "/admin/captures/\(id)/records/1"
        #expect(eventually { (try? upstream(trial, path).count) == 1 })
        let log = try #require(
            try object(trial, "/admin/captures/\(id)/har")["log"] as? [String: Any]
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
        let trial = try SandboxedGateway()
        let id = try start(trial)
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
        #expect(eventually { (try? object(trial, path)["delivery"] as? String) == "dead" })
        let record = try object(trial, path)
        #expect((record["outcomes"] as? [String: Int])?["delivered"] == 1)
        #expect((record["outcomes"] as? [String: Int])?["dead"] == 1)
        try links(trial, id, record)
    }

    /// The record names its only dead letter, and that names the record.
    private func links(_ trial: SandboxedGateway, _ id: String, _ record: [String: Any]) throws {
        let letters = try #require(record["dead_letters"] as? [Int])
        try #require(letters.count == 1)
        let letter = try object(trial, "/admin/dead-letters/\(letters[0])")
        let captures = try #require(letter["captures"] as? [[String: Any]])
        #expect(captures.count == 1)
        #expect(captures.first?["id"] as? String == id)
        #expect(captures.first?["record"] as? Int == record["n"] as? Int)
        let text: KeyValuePairs = [
            "authorization": "Bearer \(SandboxedGateway.token)", "accept": "text/plain",
        ]
        let page = try trial.admin.get("/admin/dead-letters/\(letters[0])", text).text
        #expect(page.contains("capture \(id), record 1"), "\(page)")
        let shown = try trial.admin.get("/admin/captures/\(id)/records/1", text).text
        #expect(shown.contains("dead letters \(letters[0])"), "\(shown)")
    }

    @Test("A log that is dead on arrival leads to its dead letter and back")
    func deadOnArrival() throws {
        let filters = try rules("unrouted: dead_letter\nroutes:\n- { match: known, to: [] }")
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try start(trial)
        _ = try trial.devices.post("/logs/stray", #"{"n":"1"}"#.utf8)
        let path = "/admin/captures/\(id)/records/1"
        #expect(eventually { (try? object(trial, path)["delivery"] as? String) == "dead" })
        try links(trial, id, try object(trial, path))
    }

    @Test("A log that is dropped to make room does not wait for ever")
    func dropped() throws {
        let trial = try SandboxedGateway { configuration in
            configuration.destinations[0].backlog.overflow = .dropOldest
            configuration.destinations[0].backlog.bytesMax = 1 << 20
        }
        let token: KeyValuePairs = ["authorization": "Bearer \(SandboxedGateway.token)"]
        _ = try trial.admin.post("/admin/destinations/default/pause", [UInt8](), token)
        let id = try start(trial, #"{"filter":{"path":"/logs/first"}}"#)
        _ = try trial.devices.post("/logs/first", #"{"n":"1"}"#.utf8)
        var generator = SeededRandom(seed: 1)
        for _ in 0..<8 {
            let noise = (0..<200_000).map { _ in UInt8.random(in: 97...122, using: &generator) }
            let text = String(decoding: noise, as: UTF8.self)
            _ = try trial.devices.post("/logs/second", #"{"n":"\#(text)"}"#.utf8)
        }
        let path = "/admin/captures/\(id)/records/1"
        #expect(eventually { (try? object(trial, path)["delivery"] as? String) == "expired" })
        let record = try object(trial, path)
        #expect((record["outcomes"] as? [String: Int])?["expired"] == 1)
        #expect(try entries(trial, id).first?["delivery"] as? String == "expired")
    }

    @Test("A body that came in chunks is whole")
    func chunked() throws {
        let trial = try SandboxedGateway()
        let id = try start(trial)
        let connection = try trial.devices.opened(
            sending: "POST /logs/app HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
                + "transfer-encoding: chunked\r\n\r\n5\r\n{\"a\":\r\n"
        )
        connection.send(Array("4\r\n\"b\"}\r\n0\r\n\r\n".utf8))
        #expect(String(decoding: connection.readToEnd(), as: UTF8.self).contains("200"))
        let record = try object(trial, "/admin/captures/\(id)/records/1")
        #expect((record["body"] as? [String: Any])?["text"] as? String == #"{"a":"b"}"#)
    }

    @Test(
        "Each part of the filter chooses requests",
        arguments: [
            (#"{"path":"/logs/base"}"#, ["/logs/base"]), (#"{"tag":"apps.**"}"#, ["/logs/apps.x"]),
            (#"{"status":"4xx"}"#, ["/nothing"]),
            (#"{"status":200}"#, ["/logs/apps.x", "/logs/base"]),
            (#"{"text":"needle"}"#, ["/logs/base"]), (#"{"address":"10.0.0.0/8"}"#, []),
            (#"{"address":"127.0.0.1"}"#, ["/logs/apps.x", "/logs/base", "/nothing"]),
            (#"{"key":"ios"}"#, []), (#"{"path":"/logs","status":"5xx"}"#, []),
        ]
    )
    func filter(filter: String, paths: [String]) throws {
        let trial = try SandboxedGateway()
        let (wanted, all) = (try start(trial, #"{"filter":\#(filter)}"#), try start(trial))
        _ = try trial.devices.post("/logs/apps.x", #"{"m":"hay"}"#.utf8)
        _ = try trial.devices.post("/logs/base", #"{"m":"a needle"}"#.utf8)
        _ = try trial.devices.get("/nothing")
        #expect(eventually { (try? entries(trial, all).count) == 3 })
        #expect(try entries(trial, wanted).map { $0["path"] as? String } == paths)
    }

    @Test("A capture ends by itself with its records, its bytes and its time")
    func ends() throws {
        let trial = try SandboxedGateway()
        let one = try start(trial, #"{"records":1}"#)
        let small = try start(trial, #"{"bytes":100}"#)
        for _ in 0..<2 { _ = try trial.devices.post("/logs/app", #"{"m":"1"}"#.utf8) }
        #expect(
            eventually {
                (try? object(trial, "/admin/captures/\(one)")["state"] as? String) == "full"
            }
        )
        let tight = try object(trial, "/admin/captures/\(small)")
        #expect(tight["state"] as? String == "full")
        #expect(tight["kept"] as? Int == 0)
        #expect(tight["missed"] as? Int == 1)
        let brief = try start(trial, #"{"seconds":1}"#)
        #expect(
            eventually {
                (try? object(trial, "/admin/captures/\(brief)")["state"] as? String) == "ended"
            }
        )
        let running = trial.gateway.devices.captures.all.filter(\.isRunning)
        #expect(running.isEmpty)
    }

    @Test("At most four run; one that is removed is gone, with an audit line")
    func bounds() throws {
        let trial = try SandboxedGateway()
        let ids = try (0..<Captures.runningMax).map { _ in try start(trial) }
        #expect(try trial.admin.post("/admin/captures", "{}".utf8, json).status == 409)
        let path = "/admin/captures/\(ids[0])"
        #expect(try trial.admin.send("DELETE", path, [UInt8](), json).status == 204)
        #expect(try trial.admin(path).status == 404)
        _ = try start(trial)
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
        let answer = try trial.admin.post("/admin/captures", body.utf8, json)
        #expect(answer.status == 400)
        #expect(answer.text.contains(word), "\(answer.text)")
    }

    @Test("Planted secrets are in no record, export or page")
    func canaries() throws {
        let trial = try SandboxedGateway()
        let id = try start(trial)
        let body = #"""
            [{"password":"canary-1","deep":{"api_token":{"x":"canary-2"}},
              "text":"{\"secret\":\"canary-3\",\"in\":\"{\\\"session\\\":\\\"canary-4\\\"}\"}",
              "line":"login token=canary-5&x=1 password=canary-6, fine", "n": 1}]
            """#
        let answer = try trial.devices.post(
            "/logs/app?token=canary-7&x=1&Signature=canary-8",
            body.utf8,
            [
                "cookie": "sid=canary-9", "x-acs-security-token": "canary-10",
                "x-my-secret-thing": "canary-11",
                "referer": "https://shop.example/back?access_token=canary-14",
            ]
        )
        #expect(answer.status == 200)
        _ = try trial.devices.post("/logs/app?password=canary-12", #"{"token":"canary-13","#.utf8)
        #expect(eventually { (try? entries(trial, id).count) == 2 })
        let bearer: KeyValuePairs = [
            "authorization": "Bearer \(SandboxedGateway.token)", "accept": "text/plain",
        ]
        var pages = ""
        for path in [
            "", "/har", "/export", "/records/1", "/records/2", "/records/1/curl", "/records/2/curl",
        ] {
            pages += try trial.admin("/admin/captures/\(id)\(path)").text
            pages += try trial.admin.get("/admin/captures/\(id)\(path)", bearer).text
        }
        pages += try trial.admin.post("/admin/captures/\(id)/records/1/replay", [UInt8](), json)
            .text
        pages += try trial.admin("/admin/refusals").text
        #expect(!pages.contains("canary"), "\(pages.firstMatch(of: /.{80}canary.{20}/)?.0 ?? "")")
        #expect(pages.contains("[redacted 8 bytes #"))
        #expect(pages.contains("fine"))
    }

    @Test("What a filter redacts is not kept as it came")
    func redacted() throws {
        let filters = try rules(
            """
            filters:
            - match: "pay.**"
              steps: [{ redact: { fields: [card], with: "[gone]" } }]
            """
        )
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try start(trial)
        _ = try trial.devices.post("/logs/pay.x?card=canary", #"{"card":"canary","m":"fine"}"#.utf8)
        _ = try trial.devices.post("/logs/pay.x", #"{"card":"canary""#.utf8)
        _ = try trial.devices.post("/logs/other", #"{"card":"shown"}"#.utf8)
        #expect(eventually { (try? entries(trial, id).count) == 3 })
        let pages = try trial.admin("/admin/captures/\(id)/export").text
        #expect(!pages.contains("canary"), "\(pages)")
        #expect(pages.contains("fine") && pages.contains("shown"))
        let replay = try trial.admin.post("/admin/captures/\(id)/records/1/replay", [UInt8](), json)
        #expect(replay.status == 409)
    }

    @Test(
        "What a filter may redact is not kept while the tag is unknown",
        arguments: ["{}", #"{"filter":{"status":"4xx"}}"#]
    )
    func redactedUnknownTag(capture: String) throws {
        let trial = try redacting()
        let id = try start(trial, capture)
        let push = #"{"streams":[{"stream":{"job":"pay.x","card":"canary-1"}"#
        #expect(try trial.devices.post("/loki/api/v1/push", push.utf8, json).status == 400)
        let wrong = try trial.devices.get("/logstores/pay.x/tracks?card=canary-2")
        #expect(wrong.status == 404)
        #expect(eventually { (try? entries(trial, id).count) == 2 })
        let pages =
            try trial.admin("/admin/captures/\(id)/export").text
            + trial.admin("/admin/refusals").text
        #expect(!pages.contains("canary"), "\(pages)")
    }

    @Test("Headers that become fields of a log are hidden where a filter redacts")
    func redactedHeaders() throws {
        let trial = try redacting()
        let id = try start(trial)
        let headers: KeyValuePairs = ["referer": "https://canary.example/", "user-agent": "canary"]
        for tag in ["pay.x", "other"] {
            _ = try trial.devices.get("/logstores/\(tag)/track_ua.gif?m=1", headers)
        }
        #expect(eventually { (try? entries(trial, id).count) == 2 })
        let path = "/admin/captures/\(id)/records"
        let hidden = try object(trial, "\(path)/1")["head"] as? [[String]]
        #expect(hidden?.joined().contains { $0.contains("canary") } == false)
        let shown = try object(trial, "\(path)/2")["head"] as? [[String]]
        #expect(shown?.contains(["user-agent", "canary"]) == true)
    }

    private func redacting() throws -> SandboxedGateway {
        let filters = try rules(
            """
            filters:
            - match: "pay.**"
              steps: [{ redact: { fields: [card, __referer__], with: "[gone]" } }]
            """
        )
        return try SandboxedGateway { $0.routing = filters }
    }

    @Test("A tag that only the body tells chooses requests", arguments: ["2xx", "4xx", nil])
    func tagOfBody(status: String?) throws {
        let trial = try redacting()
        let wanted = status.map { #","status":"\#($0)""# } ?? ""
        let id = try start(trial, #"{"filter":{"tag":"pay.**"\#(wanted)}}"#)
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
        #expect(try entries(trial, id).count == kept)
    }

    @Test("A refusal is kept for its tag and status, also before the body has come")
    func refusedEarly() throws {
        let trial = try SandboxedGateway { $0.limits.bodyBytes = 100 }
        let id = try start(trial, #"{"filter":{"tag":"app.**","status":413}}"#)
        for tag in ["app.x", "other"] {
            let body = String(repeating: "x", count: 101).utf8
            #expect(try trial.devices.post("/logs/\(tag)", body).status == 413)
        }
        let kept = try entries(trial, id)
        #expect(kept.map { $0["path"] as? String } == ["/logs/app.x"])
        let record = try object(trial, "/admin/captures/\(id)/records/1")
        #expect(record["tag"] as? String == "app.x")
    }

    @Test("A compressed body that was read and refused is kept as text")
    func refusedAfterReading() throws {
        let filters = try rules("unrouted: dead_letter\nroutes:\n- { match: known, to: [] }")
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try start(trial, #"{"filter":{"status":"4xx"}}"#)
        let logs = Array(repeating: #"{"m":"1"}"#, count: 10_001).joined(separator: ",")
        let body = Array("[\(logs)]".utf8)
        let answer = try trial.devices.post(
            "/logs/stray",
            LZ4.compress(body),
            ["x-log-compresstype": "lz4", "x-log-bodyrawsize": "\(body.count)"]
        )
        #expect(answer.status >= 400, "\(answer.text)")
        let record = try object(trial, "/admin/captures/\(id)/records/1")
        let inflated = record["decoded"] as? [String: Any]
        #expect((inflated?["text"] as? String)?.hasPrefix(#"[{"m":"1"},"#) == true, "\(record)")
    }

    @Test("A log whose result had no room is not shown as dropped")
    func longTrace() throws {
        let filters = try rules("filters:\n- { match: app, steps: [{ add: { env: prod } }] }")
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try start(trial)
        let log = #"{"m":"\#(String(repeating: "x", count: 6000))"}"#
        let body = "[\(Array(repeating: log, count: 100).joined(separator: ","))]"
        #expect(try trial.devices.post("/logs/app", body.utf8).status == 200)
        let path = "/admin/captures/\(id)/records/1"
        let logs = try #require(try object(trial, path)["logs"] as? [[String: Any]])
        let last = try #require(logs.last)
        #expect(last["after"] is NSNull)
        #expect(last["destinations"] as? [String] == ["default"])
        #expect((last["reason"] as? String)?.contains("no room") == true, "\(last)")
        let replay = try trial.admin.post("\(path)/replay", [UInt8](), json).text
        #expect(replay.contains(#""changes":[]"#), "\(replay.prefix(500))")
    }

    @Test("A replay shows what edited filters would change, and stores nothing")
    func replay() throws {
        let filters = try rules("filters:\n" + Self.debugDropped)
        let trial = try SandboxedGateway { $0.routing = filters }
        let id = try start(trial)
        _ = try trial.devices.post("/logs/app.x", #"[{"level":"debug"},{"level":"info"}]"#.utf8)
        let path = "/admin/captures/\(id)/records/1/replay"
        let accepted = trial.gateway.report.queue.ledger.accepted
        let same = try trial.admin.post(path, [UInt8](), json)
        #expect(
            same.text.contains(#""configuration":"present","logs":2,"left_out":0,"changes":[]"#)
        )
        let rules = #"{"filters":[{"match":"app.**","steps":[{"add":{"env":"prod"}}]}]}"#
        let edited = try trial.admin.post(path, rules.utf8, json)
        #expect(edited.status == 200, "\(edited.text)")
        #expect(edited.text.contains(#""env":{"was":null,"is":"prod"}"#), "\(edited.text)")
        #expect(edited.text.contains(#""destinations":{"was":[],"is":["default"]}"#))
        let wrong = try trial.admin.post(path, #"{"filters":[{"match":"a{"}]}"#.utf8, json)
        #expect(wrong.status == 400)
        #expect(trial.gateway.report.queue.ledger.accepted == accepted)
    }

    @Test(
        "A curl line gives sh the same request",
        arguments: ["it's", "a b", "$HOME `x` \\", "@file", "é\u{200b}", "a\nb"]
    )
    func curl(text: String) throws {
        let trial = try SandboxedGateway()
        let id = try start(trial)
        var body = Array(#"{"m":"#.utf8)
        body += try JSONEncoder().encode(text) + Array("}".utf8)
        _ = try trial.devices.post("/logs/app?q=[x]", body, ["x-empty": "", "x-more": "don't"])
        let line = try trial.admin("/admin/captures/\(id)/records/1/curl").text
        #expect(line.hasPrefix("curl --globoff --path-as-is --request POST --url 'http://"))
        // Sent through sh to the gateway itself, it is captured again.
        let target = "http://\(trial.gateway.deviceAddress)"
        let host = try #require(line.firstMatch(of: /http:\/\/[^\/]+/)?.0)
        let shell = try ChildProcess(["/bin/sh", "-c", line.replacing(host, with: target)])
        #expect(shell.wait() == 0)
        #expect(eventually { (try? entries(trial, id).count) == 2 })
        let (one, other) = (
            try object(trial, "/admin/captures/\(id)/records/1"),
            try object(trial, "/admin/captures/\(id)/records/2")
        )
        for name in ["path", "query", "method"] {
            #expect(one[name] as? String == other[name] as? String, "\(name)")
        }
        let hash = (one["body"] as? [String: Any])?["sha256"] as? String
        #expect(hash != nil && hash == (other["body"] as? [String: Any])?["sha256"] as? String)
        let fields = try #require(other["head"] as? [[String]])
        #expect(fields.contains(["x-more", "don't"]) && fields.contains(["x-empty", ""]))
    }

    @Test("Refused requests are remembered without a capture, newest first, with their reasons")
    func refusals() throws {
        let trial = try SandboxedGateway()
        _ = try trial.devices.get("/nothing?password=x", ["user-agent": "app/1"])
        _ = try trial.devices.post("/logs/app", "{".utf8)
        let answer = try object(trial, "/admin/refusals")
        let all = try #require(answer["refusals"] as? [[String: Any]])
        #expect(all.map { $0["code"] as? String } == ["PostBodyInvalid", "PathNotExist"])
        #expect(all[1]["agent"] as? String == "app/1")
        #expect((all[1]["query"] as? String)?.hasPrefix("password=[redacted 1 bytes #") == true)
        for _ in 0..<300 { _ = try? trial.devices.get("/nothing") }
        let later = try object(trial, "/admin/refusals")
        #expect(
            try #require(later["refusals"] as? [[String: Any]]).count <= RefusedRequests.countMax
        )
    }
}
