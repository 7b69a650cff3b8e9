import Configuration
import Foundation
import Queue
import Rendering
import System
import TestConfiguration
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Ingest
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct RouteDeskTests {
    private static let path = "/admin/routes/test"
    private static let reader = "0123456789abcdef0123456789reader"
    private static let rules = """
        filters_secret: 0123456789abcdef0123456789abcdef
        filters:
          - name: mask
            match: "pv.**"
            steps: [{ redact: { fields: [msg], pattern: email, with: hash } }]
        routes: [{ match: "pv.*", to: [default] }, { match: "noise", to: [] }]
        """

    /// A gateway with these rules, and a second token for reading.
    private func gateway(_ rules: String = rules) throws -> SandboxedGateway {
        let text = """
            admin: { tokens: { reader: { token: \(Self.reader), role: read } } }
            destinations:
              default:
                { endpoint: https://cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: app }
            \(rules)
            """
        let keys = [
            "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
        ]
        let read = try read(text, keys)
        return try SandboxedGateway {
            $0.routing = read.routing
            $0.admin.tokens = read.admin.tokens
        }
    }

    private func ask(
        _ trial: SandboxedGateway,
        _ body: String,
        token: String = SandboxedGateway.token,
    ) throws -> TestAnswer {
        try trial.admin.ask("POST", Self.path, body, token: token)
    }

    @Test("The answer has filters, results and near misses, as JSON and as text")
    func answer() throws {
        let trial = try gateway()
        let answer = try ask(trial, #"{"tag":"pv.a","logs":[{"msg":"x@y.example"}]}"#)
        #expect(answer.status == 200, "\(answer.text)")
        let document = try answer.object
        #expect(
            Set(document.keys) == ["tag", "filters", "results", "near_misses", "notes"]
        )
        let filter = try #require((document["filters"] as? [[String: Any]])?.first)
        #expect(filter["name"] as? String == "mask" && filter["captured"] as? String == "a")
        let step = try #require((filter["steps"] as? [[String: Any]])?.first)
        let effect = try #require((step["logs"] as? [[String: Any]])?.first)
        #expect(effect["effect"] as? String == "changed")
        #expect((effect["before"] as? [String: String])?["msg"] == "x@y.example")
        let result = try #require((document["results"] as? [[String: Any]])?.first)
        #expect(result["tag"] as? String == "pv.a" && result["dropped_by"] is NSNull)
        let place = try #require((result["destinations"] as? [[String: Any]])?.first)
        #expect(place["name"] as? String == "default" && place["outcome"] as? String == "stored")
        let text = try ask(trial, #"{"tag":"pv.a.b"}"#).shown(.routeTest)
        #expect(text.contains("\nfilter 0     mask captured a.b\n"), "\(text)")
        #expect(text.contains("\nlog 1        no fields\n  goes to    default/"), "\(text)")
        #expect(text.contains("\nnear misses  `pv.*` wants exactly one term after `pv.`;"))
    }

    @Test(
        "A wrong body names the member and the remedy",
        arguments: [
            ("", "a JSON object is expected"), ("[]", "a JSON object is expected"),
            ("{}", "tag is missing; name the tag"), (#"{"tag":7}"#, "tag is a string"),
            (#"{"tag":""}"#, "; a tag has 1 to 128 bytes"),
            (#"{"tag":"a\u0001"}"#, "without control characters"),
            (#"{"tag":"a","tag":"b"}"#, "tag is given twice"),
            (#"{"tag":"a","colour":1}"#, "colour is not a member here; known: tag, logs"),
            (#"{"tag":"a","logs":{}}"#, "logs is an array of objects"),
            (#"{"tag":"a","logs":[{},7]}"#, "logs[1] is no object; each log is an object"),
            (#"{"tag":"a","logs":[{]}"#, "logs[0] cannot be read as JSON"),
            (#"{"tag":"a","key":"nobody"}"#, "the configuration has no keys, so leave it out"),
            (#"{"tag":"a"} x"#, "something follows the object"),
            (
                #"{"tag":"a","logs":["# + Array(repeating: "{}", count: 101).joined(separator: ",")
                    + "]}",
                "logs has more than 100 elements; send fewer"
            ),
        ]
    )
    func wrong(body: String, complaint: String) throws {
        let answer = try ask(try gateway(), body)
        #expect(answer.status == 400 && answer.text.contains(complaint), "\(answer.text)")
    }

    @Test("A token for reading may test, its hashes are others, and no token may not")
    func roles() throws {
        let trial = try gateway()
        let body = #"{"tag":"pv.a","logs":[{"msg":"x@y.example"}]}"#
        let (full, read) = (try ask(trial, body), try ask(trial, body, token: Self.reader))
        #expect(read.status == 200, "\(read.text)")
        #expect(read.text.contains("hashes are made with a random key"))
        let real = try #require(full.text.firstMatch(of: /"fields":{"msg":"(\w+)"/)?.1)
        #expect(!read.text.contains(real) && !full.text.contains("random key"))
        #expect(try ask(trial, body, token: "wrong").status == 401)
    }

    @Test("A test stores nothing, counts nothing, and leaves no trace in the audit log")
    func harmless() throws {
        let trial = try gateway()
        let canary = "canary@secret.example"
        let body = #"{"tag":"pv.a","logs":[{"msg":"\#(canary)"}]}"#
        #expect(try ask(trial, body).status == 200)
        #expect(try ask(trial, body + "}").status == 400)
        #expect(trial.gateway.report.queue.ledger.accepted == 0)
        #expect(trial.gateway.report.requests.filters.isEmpty)
        for path in ["/admin/audit", "/admin/status", "/metrics", "/admin/dead-letters"] {
            let text = try trial.admin(path).text
            #expect(!text.contains("canary"), "\(path)")
        }
        let audit = try trial.object("/admin/audit")
        #expect((audit["changes"] as? [Any])?.isEmpty == true)
    }

    @Test("Body and answer have bounds")
    func bounds() throws {
        let steps = (0..<64).map { #"{ set: { f\#($0): "{{field:a}}{{field:a}}" } }"# }
        let filters = (0..<8).map {
            "{ name: f\($0), steps: [\(steps.joined(separator: ", "))] }"
        }
        let trial = try gateway("filters: [\(filters.joined(separator: ", "))]")
        let long = String(repeating: "x", count: 100_000)
        let log = #"{"a":"\#(long)"}"#
        let many = try ask(trial, #"{"tag":"app","logs":[\#(log),\#(log)]}"#)
        #expect(many.status == 200 && many.body.count < 4 << 20, "\(many.body.count)")
        #expect(many.text.contains("are left out; test fewer logs"))
        let tooMuch = try ask(trial, #"{"tag":"a","logs":[\#(log),\#(log),\#(log)]}"#)
        #expect(tooMuch.status == 413)
    }

    @Test(
        "A trial with too many steps for its logs is refused, and the same with fewer logs is not"
    )
    func work() throws {
        let step = "{ drop: true, when: { field: a, is: b } }"
        let steps = Array(repeating: step, count: 60).joined(separator: ", ")
        let filters = Array(repeating: "  - steps: [\(steps)]\n", count: 40).joined()
        let trial = try gateway("filters:\n\(filters)")
        let log = #"{"a":"\#(String(repeating: "x", count: 2000))"}"#
        func body(_ count: Int) -> String {
            let logs = Array(repeating: log, count: count).joined(separator: ",")
            return #"{"tag":"a","logs":[\#(logs)]}"#
        }
        let refused = try ask(trial, body(100))
        #expect(refused.status == 400, "\(refused.status)")
        #expect(refused.text.contains("2400 filter steps"), "\(refused.text)")
        #expect(try ask(trial, body(10)).status == 200)
    }

    @Test("The expressions of a configuration are bounded together; many usual ones fit")
    func expressions() throws {
        func rules(_ pattern: String, _ count: Int) -> String {
            let steps = (0..<count).map { number in
                "{ drop: true, when: { field: a, matches: '\(pattern)\(number)' } }"
            }
            let filters = stride(from: 0, to: count, by: 50).map { start in
                let some = steps[start..<min(start + 50, count)].joined(separator: ", ")
                return "  - steps: [\(some)]\n"
            }
            return "filters:\n" + filters.joined()
        }
        #expect(throws: Never.self) {
            try routingRules(rules(#"^/(health|ready)z?/[a-z0-9_-]+\.(js|css)$"#, 1000))
        }
        let problem = #expect(throws: ConfigurationProblems.self) {
            try routingRules(rules(#"[\pL]{25}"#, 1000))
        }
        let text = problem?.description ?? ""
        #expect(text.contains("filters[0].steps[") && text.contains(".when.matches"), "\(text)")
        #expect(text.contains("write fewer or smaller ones"), "\(text)")
    }

    @Test("Without a gateway the answer is the same")
    func offline() throws {
        let trial = try gateway()
        let configuration = trial.gateway.configuration.withLock { $0 }
        for body in [#"{"tag":"pv.a","logs":[{"msg":"x@y.example"}]}"#, #"{"tag":"noise"}"#] {
            let offline = RouteDesk.offline(Array(body.utf8), configuration)
            #expect(try offline.isFine && offline.text == ask(trial, body).text)
        }
        let wrong = RouteDesk.offline(Array("{}".utf8), configuration)
        #expect(!wrong.isFine && wrong.text.hasSuffix("(PostBodyInvalid)"))
    }
}
