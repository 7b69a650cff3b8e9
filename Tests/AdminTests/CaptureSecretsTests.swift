import Configuration
import Crypto
import Foundation
import Routing
import System
import TestGateway
import TestSupport
import Testing

@testable import Gateway

@Suite(.timeLimit(.minutes(10))) struct CaptureSecretsTests {
    private let json = SandboxedGateway.json

    @Test("Planted secrets are in no record, export or page")
    func canaries() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        let body = #"""
            [{"password":"canary-1","deep":{"api_token":{"x":"canary-2"}},
              "text":"{\"secret\":\"canary-3\",\"in\":\"{\\\"session\\\":\\\"canary-4\\\"}\"}",
              "line":"fine, token=canary-5&x=1 password=canary-6", "n": 1}]
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
        #expect(eventually { (try? trial.captureEntries(id).count) == 2 })
        var pages = ""
        for path in [
            "", "/har", "/export", "/records/1", "/records/2", "/records/1/curl", "/records/2/curl",
        ] {
            pages += try trial.admin("/admin/captures/\(id)\(path)").text
        }
        pages += try trial.admin.ask("POST", "/admin/captures/\(id)/records/1/replay").text
        pages += try trial.admin("/admin/refusals").text
        #expect(!pages.contains("canary"), "\(pages.firstMatch(of: /.{80}canary.{20}/)?.0 ?? "")")
        #expect(pages.contains("[redacted 8 bytes #"))
        #expect(pages.contains("fine"))
    }

    @Test("A secret stays hidden under the name that a filter gave it")
    func renamed() throws {
        let steps = "steps: [{ rename: { password: note } }, { set: { copy: \"{{field:note}}\" } }]"
        let rules = try routingRules("filters: [{ \(steps) }]")
        let trial = try SandboxedGateway { $0.routing = rules }
        let id = try trial.startCapture()
        _ = try trial.devices.post("/logs/app", #"{"password":"canary","m":"fine"}"#.utf8)
        #expect(eventually { (try? trial.captureEntries(id).count) == 1 })
        let pages = try pages(trial, id)
        #expect(!pages.contains("canary"), "\(pages)")
        #expect(pages.contains("copy") && pages.contains("fine"))
    }

    @Test("Masked logs count by what they were, so that masking has a bound")
    func bounded() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        // Short once it is masked.
        let value = "password=" + String(repeating: "x", count: 7991)
        let log = "{" + (0..<8).map { #""f\#($0)":"\#(value)""# }.joined(separator: ",") + "}"
        let body = "[" + Array(repeating: log, count: 20).joined(separator: ",") + "]"
        #expect(try trial.devices.post("/logs/app", body.utf8).status == 200)
        #expect(eventually { (try? trial.captureEntries(id).count) == 1 })
        let logs = try trial.object("/admin/captures/\(id)/records/1")["logs"] as? [Any]
        // Each has 64,000 bytes, of 512 KiB.
        #expect(logs?.count == 8)
    }

    @Test("A log that has no room is left out of a capture, not cut, so the others can be replayed")
    func leftOut() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        let value = String(repeating: "fine ", count: 1600)
        let log = "{" + (0..<8).map { #""f\#($0)":"\#(value)""# }.joined(separator: ",") + "}"
        let body = "[" + Array(repeating: log, count: 20).joined(separator: ",") + "]"
        #expect(try trial.devices.post("/logs/app", body.utf8).status == 200)
        #expect(eventually { (try? trial.captureEntries(id).count) == 1 })
        let path = "/admin/captures/\(id)/records/1/replay"
        let replay = try trial.admin.ask("POST", path)
        #expect(replay.status == 200 || replay.status == 202, "\(replay.text)")
        #expect(replay.text.contains(#""logs":8,"left_out":12"#), "\(replay.text)")
    }

    @Test("What a filter redacts is not kept as it came")
    func redacted() throws {
        let trial = try SandboxedGateway.redacting()
        let id = try trial.startCapture()
        _ = try trial.devices.post("/logs/pay.x?card=canary", #"{"card":"canary","m":"fine"}"#.utf8)
        _ = try trial.devices.post("/logs/pay.x", #"{"card":"canary""#.utf8)
        _ = try trial.devices.post("/logs/other", #"{"card":"shown"}"#.utf8)
        #expect(eventually { (try? trial.captureEntries(id).count) == 3 })
        let pages = try trial.admin("/admin/captures/\(id)/export").text
        #expect(!pages.contains("canary"), "\(pages)")
        #expect(pages.contains("fine") && pages.contains("shown"))
        let replay = try trial.admin.ask("POST", "/admin/captures/\(id)/records/1/replay")
        #expect(replay.status == 409)
    }

    @Test(
        "What a filter may redact is not kept while the tag is unknown",
        arguments: ["{}", #"{"filter":{"status":"4xx"}}"#]
    )
    func redactedUnknownTag(capture: String) throws {
        let trial = try SandboxedGateway.redacting()
        let id = try trial.startCapture(capture)
        let push = #"{"streams":[{"stream":{"job":"pay.x","card":"canary-1"}"#
        #expect(try trial.devices.post("/loki/api/v1/push", push.utf8, json).status == 400)
        let wrong = try trial.devices.get("/logstores/pay.x/tracks?card=canary-2")
        #expect(wrong.status == 404)
        #expect(eventually { (try? trial.captureEntries(id).count) == 2 })
        let pages =
            try trial.admin("/admin/captures/\(id)/export").text
            + trial.admin("/admin/refusals").text
        #expect(!pages.contains("canary"), "\(pages)")
    }

    @Test("Headers that become fields of a log are hidden where a filter redacts")
    func redactedHeaders() throws {
        let trial = try SandboxedGateway.redacting()
        let id = try trial.startCapture()
        let headers: KeyValuePairs = ["referer": "https://canary.example/", "user-agent": "canary"]
        for tag in ["pay.x", "other"] {
            _ = try trial.devices.get("/logstores/\(tag)/track_ua.gif?m=1", headers)
        }
        #expect(eventually { (try? trial.captureEntries(id).count) == 2 })
        let path = "/admin/captures/\(id)/records"
        let hidden = try trial.object("\(path)/1")["head"] as? [[String]]
        #expect(hidden?.joined().contains { $0.contains("canary") } == false)
        let shown = try trial.object("\(path)/2")["head"] as? [[String]]
        #expect(shown?.contains(["user-agent", "canary"]) == true)
    }

    /// All that an operator can see of a capture and of refused requests.
    private func pages(_ trial: SandboxedGateway, _ id: String) throws -> String {
        var pages = try trial.admin("/admin/refusals").text
        pages += try trial.admin("/admin/captures/\(id)/export").text
        return pages + (try trial.admin("/admin/captures/\(id)/har").text)
    }

    @Test("A refusal does not repeat a value of the query")
    func refusedValues() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        let route = "/logstores/app/shards/route"
        let key = "key=8a000000000000000000000000000000"
        for query in [
            "\(route)?key=canary-1", "\(route)?\(key)&seqid=canary-2",
            "/logs/app?format=canary-3", "/logs/app?on_error=canary-4",
        ] {
            #expect(try trial.devices.post(query, #"{"m":"1"}"#.utf8).status == 400, "\(query)")
        }
        #expect(eventually { (try? trial.captureEntries(id).count) == 4 })
        let pages = try pages(trial, id)
        #expect(!pages.contains("key canary") && !pages.contains("canary-1"), "\(pages)")
        for text in ["seqid canary", "format canary", "on_error canary"] {
            #expect(!pages.contains(text))
        }
    }

    @Test("A secret within a value of the query is masked")
    func nestedInQuery() throws {
        let (trial, id) = try SandboxedGateway.capturing()
        for value in [
            "https%3A%2F%2Fa.example%2F%3Ftoken%3Dcanary-1",
            "%7B%22password%22%3A+%22canary-2%22%7D", "a;password=canary-3",
        ] {
            _ = try trial.devices.post("/logs/app?back=\(value)&x=shown", #"{"m":"1"}"#.utf8)
            _ = try trial.devices.get("/nothing?back=\(value)&x=shown")
        }
        let topic = "topic=a%20token%3Dcanary-4"
        #expect(try trial.devices.post("/logs/app?\(topic)", #"{"m":"1"}"#.utf8).status == 200)
        #expect(eventually { (try? trial.captureEntries(id).count) == 7 })
        let pages = try pages(trial, id)
        #expect(!pages.contains("canary"), "\(pages)")
        #expect(pages.contains("x=shown"))
    }

    @Test("A document that is refused by itself counts for the redaction of its bulk")
    func redactedRefusedDocument() throws {
        let trial = try SandboxedGateway.redacting()
        let id = try trial.startCapture()
        let ofTag = try trial.startCapture(#"{"filter":{"tag":"p.**"}}"#)
        // No logstore has a name so short.
        let bulk = """
            {"create":{"_index":"p.x"}}
            {"card":"canary-1"}
            {"create":{"_index":"other"}}
            {"m":"shown"}

            """
        let answer = try trial.devices.post("/_bulk", bulk.utf8, json)
        #expect(answer.status == 200 && answer.text.contains(#""errors":true"#), "\(answer.text)")
        #expect(eventually { (try? trial.captureEntries(id).count) == 1 })
        let pages = try pages(trial, id)
        #expect(!pages.contains("canary"), "\(pages)")
        #expect(try trial.captureEntries(ofTag).count == 1)
    }

    @Test("What a filter may redact is not in a path, a header or an answer")
    func redactedElsewhere() throws {
        let trial = try SandboxedGateway.redacting()
        let id = try trial.startCapture()
        let agent: KeyValuePairs = ["user-agent": "canary-1", "content-type": "application/json"]
        let document = Array(#"{"m":"1"}"#.utf8)
        for path in ["/pay.x/_doc/canary-2", "/pay.x/_create/canary-2?refresh=x"] {
            #expect(try trial.devices.send("PUT", path, document, agent).status == 201)
            #expect(try trial.devices.send("PUT", path, Array("{".utf8), agent).status == 400)
        }
        let bulk = """
            {"create":{"_index":"pay.x","_id":"canary-3"}}
            {"m":"1"}

            """
        #expect(try trial.devices.post("/_bulk", bulk.utf8, agent).status == 200)
        let push = #"{"streams":[{"stream":{"job":"pay.x"},"values":[["1","m"]]}]}"#
        let tenant: KeyValuePairs = [
            "x-scope-orgid": "canary-4", "content-type": "application/json",
        ]
        #expect(try trial.devices.post("/loki/api/v1/push", push.utf8, tenant).status == 204)
        _ = try trial.devices.get("/nothing", agent)
        #expect(eventually { (try? trial.captureEntries(id).count) == 7 })
        let pages = try pages(trial, id)
        #expect(!pages.contains("canary"), "\(pages.firstMatch(of: /.{80}canary.{20}/)?.0 ?? "")")
    }

    @Test("What is hidden cannot be found by its hash")
    func hashes() throws {
        let trial = try SandboxedGateway.redacting()
        let id = try trial.startCapture()
        let bodies = [#"{"card":"4000"}"#, #"{"password":"1234"}"#, #"{"m":"shown"}"#]
        for (tag, body) in zip(["pay.x", "other", "other"], bodies) {
            let wrong: KeyValuePairs = ["content-md5": hex(Digest.md5(Array("x".utf8)))]
            #expect(try trial.devices.post("/logs/\(tag)", body.utf8, wrong).status == 200)
            let path = "/logstores/\(tag)/shards/lb"
            _ = try trial.devices.post(path, body.utf8, wrong)
        }
        #expect(eventually { (try? trial.captureEntries(id).count) == 6 })
        let pages = try pages(trial, id)
        for (number, body) in bodies.enumerated() {
            let digest = hex(Digest.sha256(Array(body.utf8)))
            #expect(pages.contains(digest) == (number == 2))
            #expect(!pages.contains(hex(Digest.md5(Array(body.utf8)), upper: true)))
        }
    }
}
