import Configuration
import HTTP
import Logs
import Queue
import Routing
import System
import TestConfiguration
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct RouteTests {
    /// Three destinations behind rules; `default` is the first.
    static func listener(_ rules: String, _ more: String = "") throws -> DeviceListener {
        try DeviceListener(
            """
            \(rules)
            \(more)
            destinations:
              app:
                endpoint: https://cn-hangzhou.log.aliyuncs.com
                project: my-project
                logstore: app-log
              archive:
                endpoint: https://cn-hangzhou.log.aliyuncs.com
                project: my-archive
                logstore: all
                topic: archived
              any:
                endpoint: https://cn-hangzhou.log.aliyuncs.com
                project: my-other
                logstore: "*"
            """
        )
    }

    private static let routes = """
        routes:
          - { match: "noise.*", to: [], last: true }
          - { match: "pv.**", to: [app, archive] }
          - { match: ["activity.**", "noise.**"], to: [any], last: true }
          - { match: "activity.**", to: [app] }
        """

    private func places(_ end: DeviceListener) -> [String] {
        end.queue.stored.map { "\($0.stream.destination)/\($0.stream.logstore) \($0.logs.count)" }
    }

    private func post(_ end: DeviceListener, _ tag: String, _ body: String = #"{"a":1}"#) throws
        -> String
    {
        let answer = try end.client.post("/logs/\(tag)", body.utf8)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.text
    }

    @Test("A log goes to all destinations of its routes, in one append")
    func copied() throws {
        let end = try Self.listener(Self.routes)
        let answer = try post(end, "pv.home", #"[{"a":1},{"a":2}]"#)
        #expect(answer.contains(#""count":2"#))
        #expect(places(end) == ["app/app-log 2", "archive/all 2"])
        #expect(end.queue.identities.count == 1)
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["pv.home", "archived"])
        #expect(end.queue.stored[0].logs == end.queue.stored[1].logs)
        #expect(end.shared.counters.content == [:])
        #expect(end.queue.tally == IntakeTally(received: 2, routed: 2, copies: 4))
    }

    @Test("`last` ends the search, and a route to nothing drops")
    func last() throws {
        let end = try Self.listener(Self.routes)
        _ = try post(end, "activity.start")
        #expect(places(end) == ["any/activity 1"])
        #expect(try post(end, "noise.x").contains(#""count":1"#))
        #expect(end.queue.stored.count == 1)
        #expect(end.shared.counters.content[.dropped] == 1)
        #expect(
            end.queue.tally == IntakeTally(received: 2, dropped: 1, routed: 1, copies: 1)
        )
    }

    @Test("The rule for unrouted logs", arguments: ["default", "drop", "dead_letter"])
    func unrouted(rule: String) throws {
        let end = try Self.listener(Self.routes + "\nunrouted: \(rule)")
        #expect(try post(end, "other").contains(#""count":1"#))
        #expect(end.shared.counters.content[.unrouted] == 1)
        switch rule {
        case "default": #expect(places(end) == ["app/app-log 1"])
        case "drop":
            #expect(places(end).isEmpty)
            #expect(end.shared.counters.content[.dropped] == 1)
        default:
            let batch = try #require(end.queue.stored.first)
            #expect(batch.logs.count == 0 && batch.stream.destination == "app")
            #expect(batch.dead.map(\.reason.code) == ["Unrouted"])
            #expect(batch.dead[0].reason.message.contains("other"))
        }
    }

    @Test("A request that names a project goes there alone, filtered and not routed")
    func addressed() throws {
        let end = try Self.listener(
            Self.routes + #"\#nfilters: [{ steps: [{ set: { seen: "yes" } }] }]"#
        )
        let answer = try end.client.post(
            "/logs/pv.x",
            #"{"a":1}"#.utf8,
            ["x-log-project": "my-other"]
        )
        #expect(answer.status == 200)
        #expect(places(end) == ["any/pv 1"])
        let log = try #require(try end.queue.stored[0].entries().first)
        #expect(log.texts == ["a=1", "seen=yes"])
    }

    @Test("A logstore that no destination has is a tag, once there are routes")
    func logstores() throws {
        let end = try Self.listener("routes: [{ match: pages, to: [any, archive] }]")
        let body = #"{"__logs__":[{"k":"1"}],"__topic__":"own"}"#
        #expect(try end.client.post("/logstores/pages/track", body.utf8).status == 200)
        #expect(places(end) == ["any/pages 1", "archive/all 1"])
        #expect(end.queue.stored.map(\.stream.trailer.topic) == ["own", "own"])
        // No route takes this one.
        #expect(try end.client.post("/logstores/nobody/track", body.utf8).status == 200)
        #expect(places(end).last == "app/app-log 1")
    }

    @Test("A key's destinations bound its routes")
    func keys() throws {
        let devices = """
            devices:
              keys: [{ name: phone, key: phone-0123456789abcdef, destinations: [archive] }]
            """
        let end = try Self.listener(Self.routes, devices)
        let key = ["x-sluice-key": "phone-0123456789abcdef"] as KeyValuePairs
        #expect(try end.client.post("/logs/pv.a", #"{"a":1}"#.utf8, key).status == 200)
        #expect(places(end) == ["archive/all 1"])
        for tag in ["activity.a", "other"] {
            #expect(try end.client.post("/logs/\(tag)", #"{"a":1}"#.utf8, key).status == 403)
        }
        #expect(end.queue.stored.count == 1)
    }

    @Test("A repeated request is recognised before its copies are stored")
    func repeated() throws {
        let end = try Self.listener(Self.routes)
        let name = ["idempotency-key": "n1"] as KeyValuePairs
        for _ in 0..<2 {
            let answer = try end.client.post("/logs/pv.a", #"{"a":1}"#.utf8, name)
            #expect(answer.status == 200)
        }
        #expect(end.queue.identities.count == 2)
        #expect(end.queue.identities[0]?.digest == end.queue.identities[1]?.digest)
        #expect(end.queue.identities[0]?.logs == 1)
    }

    @Test(
        "Each dialect's tag chooses the route",
        arguments: [
            ("/logs/t1", #"{"a":1}"#, [:]),
            ("/logstores/t1/track", #"{"__logs__":[{"k":"1"}]}"#, [:]),
            ("/logstores/t1/track?APIVersion=0.6.0&k=v", "", [:]),
            ("/logstores/t1", #"{"__logs__":[{"k":"1"}]}"#, ["content-type": "application/json"]),
            (
                "/v1/logs",
                #"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"t1"}}]},"#
                    + #""scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}]}"#,
                ["content-type": "application/json"]
            ),
            ("/_bulk", "{\"index\":{\"_index\":\"t1-2026.11.23\"}}\n{\"a\":1}\n", [:]),
            ("/t1/_doc", #"{"a":1}"#, [:]),
            ("/services/collector", #"{"event":"x","index":"t1"}"#, [:]),
            ("/services/collector/raw?index=t1", "a line", [:]),
            (
                "/loki/api/v1/push",
                #"{"streams":[{"stream":{"job":"j","tag":"t1"},"values":[["1700000000000000000","l"]]}]}"#,
                ["content-type": "application/json"]
            ),
            (
                "/loki/api/v1/push",
                #"{"streams":[{"stream":{"job":"t1"},"values":[["1700000000000000000","l"]]}]}"#,
                ["content-type": "application/json"]
            ),
        ] as [(String, String, [String: String])]
    )
    func tags(path: String, body: String, fields: [String: String]) throws {
        let end = try Self.listener("routes: [{ match: t1, to: [archive] }]\nunrouted: drop")
        let client = end.client
        let answer =
            body.isEmpty
            ? try client.get(path)
            : try fields.isEmpty
                ? client.post(path, body.utf8)
                : client.post(path, body.utf8, ["content-type": "application/json"])
        #expect(answer.status / 100 == 2, "\(answer.text)")
        #expect(places(end) == ["archive/all 1"], "\(path)")
    }

    @Test("Logs of OTLP's services part, and keep their order within a service")
    func services() throws {
        let end = try Self.listener(
            "routes: [{ match: a, to: [archive] }, { match: \"**\", to: [app] }]"
        )
        func resource(_ name: String, _ text: String) -> String {
            #"{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"\#(name)"}}]},"#
                + #""scopeLogs":[{"logRecords":[{"body":{"stringValue":"\#(text)"}}]}]}"#
        }
        let list = [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4")].map { resource($0.0, $0.1) }
        let body = #"{"resourceLogs":[\#(list.joined(separator: ","))]}"#
        let json = ["content-type": "application/json"] as KeyValuePairs
        #expect(try end.client.post("/v1/logs", body.utf8, json).status == 200)
        func contents(_ destination: String) throws -> [String?] {
            try end.queue.stored.filter { $0.stream.destination == destination }.flatMap {
                try $0.entries().map { $0.fields.first { $0.key == "content" }?.value }
            }
        }
        #expect(try contents("archive") == ["1", "3"])
        #expect(try contents("app") == ["1", "3", "2", "4"])
    }

    @Test("Destinations with different rules get their own logs")
    func rules() throws {
        let end = try DeviceListener(
            """
            routes: [{ match: "**", to: [app, strict, drops] }]
            destinations:
              app: { endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: aa }
              strict:
                endpoint: cn-hangzhou.log.aliyuncs.com
                project: my-strict
                logstore: bb
                late_logs: dead_letter
                oversize: dead_letter
              drops:
                endpoint: cn-hangzhou.log.aliyuncs.com
                project: my-drops
                logstore: cc
                late_logs: drop
            """
        )
        let long = String(repeating: "x", count: (1 << 20) + 1)
        let body = #"[{"a":1},{"__time__":5,"b":2},{"c":"\#(long)"}]"#
        #expect(try end.client.post("/logs/t", body.utf8).status == 200)
        let batches = end.queue.stored
        #expect(batches.map(\.stream.destination) == ["app", "strict", "drops"])
        #expect(batches.map(\.logs.count) == [3, 1, 2])
        #expect(batches[1].dead.map(\.reason.code).sorted() == ["LogTimeInvalid", "ValueTooLarge"])
        #expect(batches.map(\.dropped) == [0, 0, 1])
        let rewritten = try batches[0].entries()[1]
        #expect(rewritten.fields.contains { $0.key == "__original_time__" && $0.value == "5" })
    }

    @Test("A destination's rules leave room for marks beside the most fields")
    func fieldsAndMarks() throws {
        let end = try DeviceListener(
            """
            routes: [{ match: "**", to: [app, strict] }]
            destinations:
              app: { endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: aa }
              strict:
                endpoint: cn-hangzhou.log.aliyuncs.com
                project: my-strict
                logstore: bb
                oversize: dead_letter
            """,
            limits: { $0.json.fields = 128 }
        )
        let fields = (0..<127).map { "\"f\($0)\":1" }.joined(separator: ",")
        var body = Array("{\(fields),\"last\":\"".utf8)
        body += [0xFF] + Array("\"}".utf8)
        let answer = try end.client.post("/logs/t", body)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(end.queue.stored.map(\.logs.count) == [1, 1])
        for batch in end.queue.stored {
            let log = try #require(try batch.entries().first)
            #expect(log.fields.count == 129)
            #expect(log.fields.contains { $0.key == "__invalid_utf8__" })
        }
    }
}

@Suite struct RoutingTests {
    private func table() throws -> RoutingTable {
        RoutingTable(
            try read(
                """
                destinations:
                  first: { endpoint: cn-hangzhou.log.aliyuncs.com, project: one-project, logstore: aa }
                  second: { endpoint: cn-hangzhou.log.aliyuncs.com, project: one-project, logstore: "*" }
                  third: { endpoint: cn-hangzhou.log.aliyuncs.com, project: two-project, logstore: bb }
                """,
                ["ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
            )
        )
    }

    @Test(
        "Host, then logstore, find the destination",
        arguments: [
            ("one-project.logs.example.com", nil, "aa", "first"),
            ("ONE-PROJECT.logs.example.com:8080", nil, "aa", "first"),
            ("one-project.x", nil, "zz", "second"),
            ("two-project.x", nil, "bb", "third"),
            ("gateway.example.com", nil, "aa", "first"),
            ("10.0.0.1:8080", nil, "cc", "second"),
            (nil, nil, "aa", "first"),
            ("gateway", "two-project", "bb", "third"),
        ] as [(String?, String?, String, String)]
    )
    func found(host: String?, project: String?, logstore: String, name: String) throws {
        let target = try table().target(host: host, project: project, logstore: logstore)
        #expect(target.destination == name)
        #expect(target.logstore == logstore)
    }

    private static let settings = "endpoint: cn-hangzhou.log.aliyuncs.com, project:"

    /// Hosts are looked up only where they decide; looking up each is the model.
    @Test(
        "A request reaches the destination of its host, whether hosts are looked up or not",
        arguments: [
            "a: { \(settings) one, logstore: aa }\n  b: { \(settings) one, logstore: \"*\" }",
            "a: { \(settings) one, logstore: \"*\" }\n  b: { \(settings) two, logstore: \"*\" }",
            "a: { kind: file, path: /none/x.log }\n  b: { \(settings) two, logstore: \"*\" }",
            "a: { \(settings) one, logstore: \"*\" }\nroutes:\n  - { match: x, to: [a] }",
        ]
    )
    func hosts(destinations: String) throws {
        let table = RoutingTable(
            try read(
                "destinations:\n  \(destinations)",
                ["ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
            )
        )
        for host in ["one.x", "ONE:80", "two.x", "three.x", "10.0.0.1:8080", "one", nil] {
            let fields = host.map { [("host", $0)] } ?? []
            let head = RequestHead.made("POST /logs/x", fields, at: .now)
            for address in [LogAddress.tag("xx"), .tag("yy.z"), .logstore("aa"), .logstore("zz")] {
                let found = try table.target(of: head, address)
                let wanted = try table.target(host: host, project: nil, address)
                #expect(found.destination == wanted.destination, "\(host ?? "none"), \(address)")
                #expect(found.logstore == wanted.logstore && found.tag == wanted.tag)
                #expect(found.isRouted == wanted.isRouted)
            }
        }
    }

    @Test("A logstore that nobody has is refused with SLS's code")
    func missing() throws {
        let table = try table()
        let error = #expect(throws: Refusal.self) {
            try table.target(host: "two-project.x", project: nil, logstore: "zz")
        }
        #expect(error?.code == "LogStoreNotExist")
        #expect(error?.status == 404)
    }

    @Test("A tag goes to the destination of its project")
    func tag() throws {
        let table = try table()
        #expect(try table.target(host: "gw", project: nil, tag: "pv.ios").destination == "first")
        #expect(try table.target(host: "two-project.x", project: nil, tag: "t").logstore == "bb")
    }

    @Test(
        "Where every logstore is taken, the first term of the tag names it",
        arguments: [("pv", "pv"), ("pv.home", "pv"), ("pv.home.top", "pv")]
    )
    func firstTerm(tag: String, logstore: String) throws {
        let table = RoutingTable(
            try .read(.init(options: ["--data-dir": "/none"], isSandboxed: true))
        )
        let target = try table.target(host: nil, project: nil, tag: tag)
        #expect(target.logstore == logstore)
    }

    @Test(
        "Escapes in a path become text",
        arguments: [
            ("abc", "abc"), ("a%20b", "a b"), ("%e4%B8%96", "世"), ("%", nil), ("%zz", nil),
            ("%ff", nil),
        ]
    )
    func escapes(written: String, text: String?) {
        #expect(percentDecodedText(Array(written.utf8)[...]) == text)
    }
}

@Suite struct AskedRequestTests {
    private func text(of part: RequestPart, _ request: String) throws -> String? {
        let asked = try #require(AskedRequest(request))
        return asked.text(of: part).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("A parameter exists even if its value cannot be decoded")
    func undecodable() throws {
        #expect(try text(of: .query("debug"), "GET /logs/x?debug=%ff") == "%ff")
        #expect(try text(of: .query("debug"), "GET /logs/x?debug=%31") == "1")
        #expect(try text(of: .query("debug"), "GET /logs/x?other=1") == nil)
    }

    @Test("A host is a name in lower case without port and last dot")
    func host() throws {
        for host in ["Shop.example", "shop.example:8080", "shop.example.", "shop.example.:80"] {
            #expect(try text(of: .host, "GET /\nhost: \(host)") == "shop.example")
        }
        #expect(try text(of: .host, "GET /\nhost: [::1]:80") == "[::1]")
    }
}
