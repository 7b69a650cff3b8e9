import HTTP
import Logs
import Queue
import Routing
import System
import TestConfiguration
import TestSupport
import Testing

@testable import Configuration
@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct RouteTesterTests {
    private static let rules = """
        filters_secret: 0123456789abcdef0123456789abcdef
        filters:
          - name: common
            match: "pv.**"
            steps:
              - add: { page: "{{captured}}", from: "{{client_ip}}/{{key}}" }
              - redact: { fields: [msg, __topic__], pattern: email, with: hash }
              - drop: true
                when: { field: level, is: debug }
              - tag: "page.{{captured}}"
                when: { field: move, exists: true }
          - name: parse
            match: ["page.*", "json.*"]
            on_error: dead_letter
            steps:
              - parse: { field: body, as: json }
                when: { field: body, exists: true }
          - name: strict
            match: "strict.*"
            on_error: drop
            steps: [{ parse: { field: body, as: json } }, { parse: { field: body, as: kv } }]
          - name: loop
            match: "loop.**"
            steps: [{ tag: "{{tag}}.x" }]
          - { name: loop-end, match: "loop.**", steps: [{ tag: "{{tag}}.y" }] }
        routes:
          - { match: "noise.*", to: [], last: true }
          - { match: "page.*", to: [any], last: true }
          - { match: ["pv.**", "page.**", "json.*"], to: [app, archive] }
        unrouted: dead_letter
        """

    private func configuration(_ rules: String = rules, _ more: String = "") throws
        -> GatewayConfiguration
    {
        try read(
            """
            \(rules)
            \(more)
            destinations:
              app: { endpoint: https://cn-hangzhou.log.aliyuncs.com, project: one, logstore: app-log }
              archive:
                { endpoint: https://cn-hangzhou.log.aliyuncs.com, project: two, logstore: all, topic: archived }
              any: { endpoint: https://cn-hangzhou.log.aliyuncs.com, project: three, logstore: "*" }
            """,
            ["ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret"]
        )
    }

    private func ask(
        _ tag: String,
        _ logs: String...,
        makesHashes: Bool = true,
        rules: String = rules,
        more: String = "",
        key: String? = nil
    ) throws -> RouteFindings {
        var question = try #require(RouteQuestion(tag: tag))
        question.logs = logs.map { Array($0.utf8) }
        question.clientIP = "192.0.2.1"
        question.key = key
        return try RouteTester(try configuration(rules, more), makesHashes: makesHashes)
            .findings(question)
    }

    private func places(_ log: RouteFindings.Log) -> [String] {
        log.places.map { place in
            "\(place.outcome.rawValue) \(place.destination)"
                + (place.logstore.map { "/\($0)" } ?? "")
        }
    }

    @Test("What the tester tells is what a device's request stores")
    func sameAsDevices() throws {
        let bodies = [
            ("pv.home", #"{"msg":"a@b.example","n":1.50}"#), ("pv.x", #"{"level":"debug"}"#),
            ("pv.x", #"{"move":1,"body":"{\"k\":1}"}"#), ("json.x", #"{"body":"no"}"#),
            ("strict.x", #"{"body":"no"}"#), ("noise.a", "{}"), ("other", #"{"a":[1,{"b":2}]}"#),
            ("loop.a", #"{"a":1}"#), ("page.a", "{}"),
        ]
        for (tag, body) in bodies {
            let end = try RouteTests.listener(Self.rules)
            #expect(try end.client.post("/logs/\(tag)", body.utf8).status == 200)
            let log = try #require(try ask(tag, body).logs.first)
            let stored = end.queue.stored.map { $0.dead.isEmpty ? "stored" : "dead_letter" }
            let taken = log.places.filter { $0.outcome != .passedOver }
            #expect(taken.map(\.outcome.rawValue) == stored, "\(tag)")
            for (place, batch) in zip(taken, end.queue.stored) {
                #expect(place.destination == batch.stream.destination)
                #expect(place.logstore == batch.stream.logstore, "\(tag)")
                #expect(place.topic ?? "" == batch.stream.trailer.topic)
                for entry in try batch.entries() where place.outcome == .stored {
                    let fields = log.fields.map { "\($0.name)=\($0.value)" }
                    let expected = entry.texts
                    #expect(
                        fields.filter { !$0.hasPrefix("from=") }
                            == expected.filter { !$0.hasPrefix("from=") },
                        "\(tag)"
                    )
                }
                for dead in batch.dead { #expect(place.why.contains(dead.reason.message)) }
            }
        }
    }

    @Test("Each step shows what it did")
    func steps() throws {
        let findings = try ask(
            "pv.home",
            #"{"msg":"mail a@b.example","from":"x"}"#,
            #"{"level":"debug"}"#,
            #"{"move":1,"body":"no"}"#
        )
        #expect(findings.filters.map(\.index) == [0] && findings.filters[0].captured == "home")
        let (first, second, third) = (findings.logs[0], findings.logs[1], findings.logs[2])
        #expect(first.steps.map(\.effect) == [.changed, .changed, .skipped, .skipped])
        #expect(first.steps[0].before.isEmpty && first.steps[0].after.map(\.name) == ["page"])
        #expect(first.steps[1].before.map(\.value) == ["mail a@b.example"])
        #expect(first.steps[1].after.first?.value.contains("a@b") == false)
        #expect(places(first) == ["stored app/app-log", "stored archive/all"])
        #expect(first.routes == [2] && first.places.map(\.why) == ["routes[2]", "routes[2]"])
        #expect(second.steps.last?.effect == .dropped && second.droppedBy == "common")
        #expect(second.places.isEmpty)
        #expect(third.tag == "page.home" && third.routes == [1])
        #expect(third.steps.map(\.tag).last == "page.home")
        guard case .failed(_, .deadLetter)? = third.steps.last?.effect else {
            Issue.record("\(third.steps)")
            return
        }
        #expect(
            places(third) == ["dead_letter any/page", "passed_over app", "passed_over archive"]
        )
        #expect(third.places[1].why == "routes[2] matches too, but routes[1] is last")
    }

    @Test("Logs that go nowhere, and why")
    func nowhere() throws {
        #expect(try ask("noise.a").logs[0].droppedBy == "routes[0]")
        #expect(try ask("strict.a", #"{"body":"x"}"#).logs[0].droppedBy == "strict")
        let unrouted = try ask("other").logs[0]
        #expect(places(unrouted) == ["dead_letter app/app-log"])
        #expect(unrouted.places[0].why == "Unrouted: no route takes the tag other")
        let dropped = Self.rules.replacing("unrouted: dead_letter", with: "unrouted: drop")
        #expect(try ask("other", rules: dropped).logs[0].droppedBy == "unrouted")
        let given = Self.rules.replacing("unrouted: dead_letter", with: "unrouted: default")
        #expect(
            try ask("other", rules: given).logs[0].places.map(\.why)
                == ["no route takes the tag (unrouted)"]
        )
        let none = try ask("other", rules: "")
        #expect(none.logs[0].places.map(\.why) == ["the default destination"])
        #expect(none.notes == ["the configuration has neither filters nor routes"])
        #expect(try ask("noise.a.b").nearMisses.map(\.match) == ["noise.*"])
    }

    @Test("A key bounds the destinations of routes, and one without a right is refused")
    func keys() throws {
        let more = """
            devices:
              keys:
                - { name: one, key: 0123456789abcdef, destinations: [archive] }
                - { name: two, key: 0123456789abcdeg, destinations: [any] }
            """
        let bounded = try ask("pv.a", more: more, key: "one").logs[0]
        #expect(places(bounded) == ["stored archive/all", "passed_over app"])
        #expect(bounded.fields.last?.value == "192.0.2.1/one")
        let refused = try ask("pv.a", more: more, key: "two").logs[0]
        #expect(refused.refusal?.status == 403 && places(refused).count == 2)
        let wrong = #expect(throws: HTTPProblem.self) { try ask("a", more: more, key: "three") }
        #expect(
            wrong?.message == "key three is no name of devices.keys; known: one, two"
        )
    }

    @Test("Hashes are those of filters_secret, or of another key for a token that may only read")
    func hashes() throws {
        let log = #"{"msg":"a@b.example"}"#
        let end = try RouteTests.listener(Self.rules)
        #expect(try end.client.post("/logs/pv.a", log.utf8).status == 200)
        let stored = try #require(try end.queue.stored[0].entries()[0].fields.first?.value)
        let (real, standIn) = (try ask("pv.a", log), try ask("pv.a", log, makesHashes: false))
        #expect(real.logs[0].fields[0].value == stored && real.notes.isEmpty)
        let other = standIn.logs[0].fields[0].value
        #expect(other != stored && other.utf8.count == stored.utf8.count)
        #expect(standIn.notes.first?.hasPrefix("hashes are made with a random key") == true)
        #expect(try ask("pv.a", log, makesHashes: false).logs[0].fields[0].value != other)
    }

    @Test("Rules that need too much work are refused, and cheap ones with the same logs are not")
    func work() throws {
        let log = Array(#"{"msg":"\#(String(repeating: "ab", count: 1750))"}"#.utf8)
        func problem(_ pattern: String, times growth: Int, _ tests: Int, logs: Int) throws
            -> HTTPProblem?
        {
            let tests = (0..<tests).map { "{ field: b, matches: '\(pattern)\($0)' }" }
            let rules = """
                filters:
                  - steps:
                      - set: { b: "\(String(repeating: "{{field:msg}}", count: growth))" }
                      - drop: true
                        when: { any: [\(tests.joined(separator: ", "))] }
                """
            var question = try #require(RouteQuestion(tag: "a"))
            question.logs = Array(repeating: log, count: logs)
            let tester = RouteTester(try configuration(rules), makesHashes: true)
            do throws(HTTPProblem) {
                let effects = try tester.findings(question).logs[0].steps.map(\.effect)
                #expect(effects == [.changed, .skipped])
                return nil
            } catch {
                return error
            }
        }
        let costly = "(a|b)*a(a|b){14}c"
        let grown = try problem(costly, times: 280, 4, logs: 1)
        #expect(grown?.status == 400 && grown?.code == "ParameterInvalid")
        #expect(grown?.message.contains("more work") == true, "\(grown as Any)")
        #expect(try problem("c", times: 280, 4, logs: 1) == nil)
        #expect(try problem(costly, times: 1, 40, logs: 1) == nil)
        // The logs of a trial share its work.
        #expect(try problem(costly, times: 1, 40, logs: 20) == grown)
        #expect(try problem("c", times: 1, 40, logs: 20) == nil)
    }

    @Test("A log that cannot be read is named")
    func unreadable() throws {
        let problem = #expect(throws: HTTPProblem.self) { try ask("a", "{}", #"{"a":tru}"#) }
        #expect(problem?.message.hasPrefix("logs[1]: ") == true, "\(problem as Any)")
    }
}
