import Configuration
import Crypto
import JSON
import Routing
import TestConfiguration
import TestSupport
import Testing

/// `filters`, `routes`, `unrouted` and `filters_secret`.
@Suite struct RoutingSettingsTests {
    private func rules(_ text: String, _ more: [String: String] = [:]) throws -> RoutingRules {
        try read(minimal + text + "\n", testKeys.merging(more) { $1 }).routing
    }

    private func steps(_ text: String) throws -> [FilterStep] {
        try rules("filters: [{ steps: [\(text)] }]").filters[0].steps
    }

    @Test("Filters and routes are read as they are written")
    func whole() throws {
        let text = """
            destinations:
              app: { endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: app }
              archive: { endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: old }
              console: { endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: con }
            filters:
              - name: common
                match: "pv.**"
                steps:
                  - add:    { app: shop, page: "{{captured}}" }
                  - set:    { env: prod, build: 42, beta: true }
                  - rename: { uid: user_id }
                  - remove: [password, "debug_*"]
                  - redact: { fields: [msg, email], pattern: email, with: hash }
                  - sample: { keep: 10%, by: device_id }
                    when:   { field: level, in: [debug, trace] }
                  - drop: true
                    when:   { field: path, matches: "^/health" }
                  - tag: "page.{{captured}}"
            filters_secret: 0123456789abcdef
            routes:
              - { match: "activity.**", to: [console] }
              - { match: "pv.**", to: [app, archive] }
              - { match: "noise.*", to: [], last: true }
            unrouted: dead_letter
            """
        let rules = try read(text).routing
        let debug = Condition.field("level", .isOneOf(["debug", "trace"]))
        let health = Condition.field("path", .matches(try TextPattern("^/health")))
        func assign(_ field: String, _ value: String) throws -> Assignment {
            Assignment(field: field, value: try Template(value))
        }
        let filter = Filter(
            name: "common",
            patterns: [try TagPattern("pv.**")],
            steps: [
                .init(.add([try assign("app", "shop"), try assign("page", "{{captured}}")])),
                .init(
                    .set([
                        try assign("env", "prod"), try assign("build", "42"),
                        try assign("beta", "true"),
                    ])
                ),
                .init(.rename([Renaming(from: "uid", to: "user_id")])),
                .init(.remove([FieldPattern("password"), FieldPattern("debug_*")])),
                .init(
                    .redact(
                        Redaction(
                            fields: [FieldPattern("msg"), FieldPattern("email")],
                            .known(.email),
                            with: .hash
                        )
                    )
                ),
                .init(.sample(Sampling(keep: 100_000, by: "device_id")), when: debug),
                .init(.drop, when: health),
                .init(.tag(try Template("page.{{captured}}"))),
            ]
        )
        #expect(rules.filters == [filter])
        #expect(
            rules.routes == [
                Route(patterns: [try TagPattern("activity.**")], to: ["console"]),
                Route(patterns: [try TagPattern("pv.**")], to: ["app", "archive"]),
                Route(patterns: [try TagPattern("noise.*")], to: [], isLast: true),
            ]
        )
        #expect(rules.unrouted == .deadLetter)
        #expect(rules.secret == Secret("0123456789abcdef"))
    }

    @Test("Nothing is filtered or routed by itself, and an empty list of routes routes nothing")
    func absent() throws {
        #expect(try rules("") == RoutingRules())
        #expect(try rules("filters: []\nroutes:") == RoutingRules())
        let none = try rules("routes: []")
        #expect(none.routes == [] && !none.isEmpty)
        let sandbox = try GatewayConfiguration.read(.init(isSandboxed: true))
        #expect(sandbox.routing == RoutingRules())
    }

    @Test("A sandbox has filters and routes of its destination, too")
    func sandboxed() throws {
        let directory = TemporaryDirectory()
        let text = "filters: [{ steps: [{ remove: password }] }]\nroutes: [{ to: default }]\n"
        let inputs = ConfigurationInputs(
            file: directory.file("sluice.yaml", text),
            isSandboxed: true
        )
        let rules = try GatewayConfiguration.read(inputs).routing
        #expect(rules.filters.map(\.name) == ["filters[0]"])
        #expect(rules.routes == [Route(to: ["default"])])
    }

    @Test("The secret may come from the environment, and is shown nowhere")
    func secret() throws {
        let filter = "filters: [{ steps: [{ redact: { fields: ip, with: hash } }] }]"
        let canary = "canary-0123456789"
        let configuration = try read(
            minimal + filter,
            testKeys.merging(["SLUICE_FILTERS_SECRET": canary]) { $1 }
        )
        #expect(configuration.routing.secret == Secret(canary))
        #expect(!"\(configuration.routing)".contains("canary"))
        #expect(!everythingShown(of: configuration).contains("canary"))
    }

    @Test("A pattern keeps its commas and spaces, and a list has several")
    func patterns() throws {
        let rules = try rules(
            """
            filters:
              - { match: "{app,web}.*", steps: [{ drop: true }] }
              - { match: [a, "b.** c"], steps: [{ drop: true, when: { tag: "a.{b,c}" } }] }
            """
        )
        #expect(
            rules.filters.map { $0.patterns.map(\.text) } == [["{app,web}.*"], ["a", "b.** c"]]
        )
        #expect(rules.filters[1].steps[0].condition == .tag([try TagPattern("a.{b,c}")]))
    }

    @Test("Conditions of several tests, of several conditions, and of none")
    func conditions() throws {
        func condition(_ text: String) throws -> Condition? {
            try steps("{ drop: true, when: \(text) }")[0].condition
        }
        #expect(
            try condition("{ field: status, at_least: 500, at_most: 5.99e2 }")
                == .all([.field("status", .atLeast(500)), .field("status", .atMost(599))])
        )
        #expect(try condition("{ field: a, exists: false }") == .field("a", .exists(false)))
        #expect(try condition("{ field: a, is: true }") == .field("a", .isOneOf(["true"])))
        #expect(
            try condition("{ any: [{ field: a, is: x }, { not: { all: [{ tag: b }] } }] }")
                == .any([
                    .field("a", .isOneOf(["x"])), .not(.all([.tag([try TagPattern("b")])])),
                ])
        )
        let nested =
            String(repeating: "{ not: ", count: 7) + "{ tag: a }"
            + String(repeating: " }", count: 7)
        #expect(try condition(nested) != nil)
    }

    @Test("What redacts, parses, truncates and samples has all of its settings")
    func groups() throws {
        #expect(
            try steps(
                """
                { redact: { fields: msg } }, { redact: { fields: "a, b", pattern: "tel: [0-9]+", with: "[gone]" } },
                { redact: { fields: x, pattern: id_card, with: remove } }
                """
            ).map(\.action) == [
                .redact(Redaction(fields: [FieldPattern("msg")], .everything, with: .mask)),
                .redact(
                    Redaction(
                        fields: [FieldPattern("a"), FieldPattern("b")],
                        .matches(try TextPattern("tel: [0-9]+")),
                        with: .text("[gone]")
                    )
                ),
                .redact(Redaction(fields: [FieldPattern("x")], .known(.idCard), with: .remove)),
            ]
        )
        #expect(
            try steps(
                """
                { parse: { field: msg, as: json } }, { parse: { field: q, as: kv, prefix: q_, remove: true } },
                { parse: { field: r, as: regex, pattern: "^(?P<status>[0-9]+)" } }
                """
            ).map(\.action) == [
                .parse(Parsing(field: "msg", .json)),
                .parse(Parsing(field: "q", .keyValue, prefix: "q_", removesSource: true)),
                .parse(Parsing(field: "r", .regex(try TextPattern("^(?P<status>[0-9]+)")))),
            ]
        )
        #expect(
            try steps(
                "{ truncate: { fields: [msg], bytes: 4KiB } }, { keep: [a, b] }, { sample: { keep: 0.5% } }"
            )
            .map(\.action) == [
                .truncate(Truncation(fields: [FieldPattern("msg")], bytes: 4096)),
                .keep([FieldPattern("a"), FieldPattern("b")]), .sample(Sampling(keep: 5000)),
            ]
        )
    }

    @Test(
        "A filter says what becomes of a log on which a step fails",
        arguments: Filter.OnError.allCases
    )
    func errors(treatment: Filter.OnError) throws {
        let text = "filters: [{ on_error: \(treatment.rawValue), steps: [{ drop: true }] }]"
        #expect(try rules(text).filters[0].onError == treatment)
    }

    @Test("The JSON of filters and routes is the configuration again, without the secret")
    func json() throws {
        let secret = "filters_secret: canary-0123456789"
        let rules = try rules(
            """
            filters_headers: [X-U]
            filters:
              - name: all
                match: ["{a,b}.*", 'c.\\*']
                on_error: drop
                steps:
                  - add: { a: "{{captured}}" }
                  - set: { 'b"': 1 }
                  - rename: { c: d }
                  - remove: [e, "f*"]
                  - keep: g
                  - redact: { fields: h, pattern: jwt, with: hash }
                  - redact: { fields: h, pattern: 'a\\d', with: gone }
                  - redact: { fields: h, with: remove }
                  - redact: { fields: h }
                  - parse: { field: i, as: json, remove: true }
                  - parse: { field: i, as: kv, prefix: i_ }
                  - parse: { field: i, as: regex, pattern: "(?P<j>.)" }
                  - truncate: { fields: k, bytes: 1KiB }
                  - sample: { keep: 12.05%, by: l }
                  - sample: { keep: 0.0001% }
                  - tag: m
                  - split: { field: o, as: p, most: 7 }
                  - split: { field: o }
                  - time: { field: q, format: ms }
                  - time: { field: q, format: "%d/%b/%Y:%H:%M:%S %z" }
                  - topic: "t-{{field:r}}"
                  - source: "{{client_ip}}"
                  - drop: true
                    when:
                      all:
                        - { query: s, is: t, exists: true }
                        - { header: X-U, in: [v, w] }
                        - { not: { host: ["*.X", y], } }
                        - { any: [{ method: PUT }, { path: "/z*" }] }
                  - drop: true
                    when:
                      any:
                        - { field: n, exists: false, is: o, in: [p, q], matches: "^r", at_least: -1.5 }
                        - { not: { all: [{ tag: [s, t] }, { field: u, at_most: 1e300 }] } }
              - { name: every, steps: [{ drop: true }] }
            routes: [{ match: v, to: app }, { to: [], last: true }]
            unrouted: drop
            \(secret)
            """
        )
        var json = JSONWriter()
        json.object { $0.rules(rules) }
        #expect(!json.text.contains("canary"))
        let text =
            "{\(minimal.dropLast()), \(secret), filters_headers: [x-u], \(json.text.dropFirst())"
        #expect(try read(text).routing == rules)
        json = JSONWriter()
        json.object { $0.rules(RoutingRules()) }
        #expect(json.text == #"{"filters":[],"routes":null,"unrouted":"default"}"#)
    }

    @Test("The largest lists are read")
    func largest() throws {
        let step = "{ drop: true }"
        let steps = Array(repeating: step, count: Filter.stepsMax).joined(separator: ", ")
        let filters =
            Array(repeating: "  - { match: a, steps: &s [\(steps)] }", count: 1)
            + Array(repeating: "  - { match: a, steps: *s }", count: Filter.filtersMax - 1)
        let routes = (0..<Route.routesMax).map { "  - { match: t\($0).x, to: app }" }
        let rules = try rules(
            (["filters:"] + filters + ["routes:"] + routes).joined(separator: "\n")
        )
        #expect(rules.filters.count == 256 && rules.filters.allSatisfy { $0.steps.count == 64 })
        #expect(rules.routes?.count == 1024)
    }

    @Test("A reload applies filters and routes at once")
    func changes() throws {
        let before = try read(minimal)
        let text = """
            filters: [{ steps: [{ drop: true }] }]
            filters_secret: 0123456789abcdef
            routes: [{ to: app }]
            unrouted: drop
            """
        let after = try read(minimal + text)
        let changes = before.changes(to: after)
        #expect(changes.map(\.key) == ["filters", "filters_secret", "routes", "unrouted"])
        #expect(changes.allSatisfy { $0.isImmediate })
        var running = before
        running.apply(after)
        #expect(running.routing == after.routing)
    }

    @Test("The summary counts filters and routes, and says what becomes of the rest")
    func summary() throws {
        let text =
            "filters: [{ steps: [{ drop: true }] }]\nroutes: [{ to: app }, { to: [] }]\nunrouted: drop"
        let lines = ConfigurationSummary.text(try read(minimal + text)).split(
            separator: "\n"
        )
        #expect(lines.contains("  routing      1 filter, 2 routes, else dropped"))
    }
}
