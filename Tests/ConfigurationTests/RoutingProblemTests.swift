import Configuration
import TestConfiguration
import Testing

/// What is wrong with filters and routes, and what would be right.
@Suite struct RoutingProblemTests {
    /// Each problem of the text, whose first line is line 2, without the file's name.
    private func problems(_ text: String) -> [String] {
        do {
            _ = try read(minimal + text + "\n")
            return []
        } catch let error as ConfigurationProblems {
            return error.problems.map { problem in
                guard case .file(_, let line) = problem.place else { return "\(problem)" }
                return "\(line): \(problem.key): \(problem.text)"
            }
        } catch {
            return ["\(error)"]
        }
    }

    @Test(
        "One mistake in a step, one line",
        arguments: [
            ("{ renam: { a: b } }", ".renam: unknown key; did you mean rename?"),
            ("{ add: { a: b }, set: { c: d } }", ".set: a step has one action, and this one has"),
            ("{ when: { tag: a } }", ": has no action; give one of add, set, rename, remove,"),
            ("drop", ": wants a group of settings, got a plain value"),
            ("{ drop: }", ".drop: has no value; give one, or take the line away"),
            ("{ drop: false }", ".drop: does nothing when false; write true, or take the step"),
            ("{ drop: yes }", ".drop: \"yes\" is neither true nor false"),
            ("{ add: {} }", ".add: names no field; give at least one"),
            ("{ add: [a] }", ".add: wants a group of settings, got a list"),
            ("{ set: { a: } }", ".set.a: has no value; write \"\" for an empty text"),
            ("{ set: { a: [b] } }", ".set.a: wants a text such as page.{{captured}}, got a list"),
            ("{ set: { __topic__: a } }", ".set.__topic__: \"__topic__\" is reserved by SLS;"),
            ("{ set: { a: \"x{{tags}}\" } }", ".set.a: \"x{{tags}}\" is not a text with places:"),
            ("{ tag: \"page.{{captured\" }", ".tag: \"page.{{captured\" is not a text with"),
            ("{ tag: \"\" }", ".tag: a tag has 1 to 256 bytes; write one such as"),
            ("{ rename: { a: __time__ } }", ".rename.a: \"__time__\" is reserved by SLS; choose"),
            ("{ remove: [] }", ".remove: is an empty list; give at least 1"),
            ("{ remove: [\"\"] }", ".remove: a field's name has 1 to 128 bytes"),
            ("{ redact: { with: mask } }", ".redact.fields: is missing; name fields, as in [msg,"),
            ("{ redact: email }", ".redact: wants a group of settings, got a plain value"),
            ("{ redact: { fields: a, with: hash } }", ".redact.with: hash needs a secret key: set"),
            ("{ redact: { fields: a, pattern: emial } }", ".redact.pattern: \"emial\" is not one"),
            ("{ redact: { fields: a, pattern: \"(a\" } }", ".redact.pattern: \"(a\" is not a"),
            ("{ parse: { as: json } }", ".parse.field: is missing; name the field that is parsed"),
            ("{ parse: { field: a } }", ".parse.as: is missing; give json, kv or regex"),
            ("{ parse: { field: a, as: jsno } }", ".parse.as: \"jsno\" is not one of json, kv,"),
            ("{ parse: { field: a, as: regex } }", ".parse.pattern: is missing; its named groups"),
            ("{ parse: { field: a, as: kv, pattern: x } }", ".parse.pattern: is of no use for kv;"),
            (
                "{ parse: { field: a, as: regex, pattern: \"([0-9]+)\" } }",
                ".parse.pattern: \"([0-9]+)\" names no group, so it makes no field; name one, as in (?P<status>[0-9]+)"
            ),
            ("{ truncate: { fields: a } }", ".truncate.bytes: is missing; give a size such as"),
            ("{ truncate: { fields: a, bytes: 2MiB } }", ".truncate.bytes: 2MiB is not between 1B"),
            ("{ split: { as: a } }", ".split.field: is missing; name the field that has the array"),
            ("{ split: { field: a, most: 10001 } }", ".split.most: 10001 is not between 1 and"),
            ("{ split: { field: a, as: __topic__ } }", ".split.as: \"__topic__\" is reserved by"),
            ("{ time: { field: a } }", ".time.format: is missing; give iso, s, ms, us, ns or a"),
            ("{ time: { field: a, format: \"%H:%M\" } }", ".time.format: \"%H:%M\" is not a"),
            ("{ topic: \"{{x}}\" }", ".topic: \"{{x}}\" is not a text with places: {{x}} is none"),
            ("{ drop: true, when: { header: X-App, is: a } }", ".when.header: x-app is not in"),
            ("{ drop: true, when: { query: a } }", ".when.query: is not compared; give exists,"),
            ("{ drop: true, when: { path: /a, is: b } }", ".when.is: is about a field, and the"),
            ("{ drop: true, when: { query: a, method: GET } }", ".when.method: a condition has"),
            ("{ sample: {} }", ".sample.keep: is missing; give a percentage such as 10%"),
            ("{ sample: { keep: 10 } }", ".sample.keep: \"10\" is not a percentage; write one"),
            ("{ sample: { keep: 0% } }", ".sample.keep: 0% is not between 0.0001% and 100%"),
            ("{ sample: { keep: 100.1% } }", ".sample.keep: 100.1% is not between 0.0001% and"),
        ] as [(String, String)]
    )
    func step(text: String, expected: String) {
        let found = problems("filters:\n  - steps:\n      - \(text)")
        #expect(found.begin(with: ["4: filters[0].steps[0]\(expected)"]), "\(found)")
    }

    @Test(
        "One mistake in a condition, one line",
        arguments: [
            ("{}", ": says nothing; give one of field, query, header, host, method, path, tag,"),
            ("5", ": wants a group of settings, got a plain value"),
            ("{ field: a }", ".field: is not compared; give exists, is, in, matches, at_least or"),
            ("{ is: a }", ".is: is about a field; name it, as in { field: level, is: … }"),
            ("{ tag: a, is: b }", ".is: is about a field, and the condition has tag instead"),
            ("{ field: a, is: b, tag: c }", ".tag: a condition has one of field, query, header,"),
            ("{ field: a, si: b }", ".si: unknown key; did you mean is?"),
            ("{ field: a, is: }", ".is: has no value; give one, or take the line away"),
            ("{ field: a, in: [] }", ".in: is an empty list; give at least 1"),
            ("{ field: a, at_least: inf }", ".at_least: \"inf\" is not a number; write one such"),
            ("{ field: a, matches: \"a(?=b)\" }", ".matches: \"a(?=b)\" is not a regular"),
            ("{ tag: \"a.{b\" }", ".tag: \"a.{b\" is not a pattern of tags: { is not closed by },"),
            ("{ all: [] }", ".all: is an empty list; give at least 1"),
            ("{ any: { tag: a } }", ".any: wants a list of groups of settings, got a group of"),
            ("{ any: [{ tag: a }, { tga: b }] }", ".any[1].tga: unknown key; did you mean tag?"),
            ("{ not: { field: \"\", is: a } }", ".not.field: a field's name has 1 to 128 bytes"),
        ] as [(String, String)]
    )
    func condition(text: String, expected: String) {
        let found = problems("filters:\n  - steps:\n      - { drop: true, when: \(text) }")
        #expect(found.begin(with: ["4: filters[0].steps[0].when\(expected)"]), "\(found)")
    }

    @Test(
        "One mistake in a filter or a route, one line",
        arguments: [
            ("filters: 5", "filters: wants a list of groups of settings, got a plain value"),
            ("filters: [{ match: a }]", "filters[0].steps: is missing; list what is done with a"),
            ("filters: [{ steps: [] }]", "filters[0].steps: is an empty list; give at least 1"),
            (
                "filters: [{ steps: [{ drop: true }], on_error: dead }]",
                "filters[0].on_error: \"dead\" is not one of keep, drop, dead_letter"
            ),
            (
                "filters: [{ name: \"a b\", steps: [{ drop: true }] }]",
                "filters[0].name: a name has 1 to 64 letters, digits, '-', '_' and '.'"
            ),
            (
                "filters: [{ name: a, steps: [{ drop: true }] }, { name: a, steps: [{ drop: true }] }]",
                "filters[1].name: a is in the list already; give each filter a name of its own"
            ),
            (
                "filters: [{ match: [a, \"\"], steps: [{ drop: true }] }]",
                "filters[0].match: \"\" is not a pattern of tags: the pattern is empty, at byte 0; write one such as pv.**, pv.* or {app,web}.**"
            ),
            (
                "filters: [{ stesp: [{ drop: true }], steps: [{ drop: true }] }]",
                "filters[0].stesp: unknown key; did you mean steps?"
            ),
            ("routes: [{ match: a }]", "routes[0].to: is missing; list destinations, or write to:"),
            ("routes: [{ to: }]", "routes[0].to: has no value; give one, or take the line away"),
            ("routes: [{ to: [ap] }]", "routes[0].to: there is no destination \"ap\"; did you"),
            ("routes: [{ to: app, last: 1 }]", "routes[0].last: \"1\" is neither true nor false"),
            ("routes: [{ to: [app, app] }]", "routes[0].to: app is given twice; keep one of them"),
            (
                "routes: [{ to: [\(Array(repeating: "app", count: 17).joined(separator: ", "))] }]",
                "routes[0].to: has 17 values; give at most 16"
            ),
            ("unrouted: deadletter", "unrouted: \"deadletter\" is not one of default, drop,"),
            ("filters_secret: short", "filters_secret: has 5 characters; give at least 16, for"),
            (
                "routes: [\(Array(repeating: "{ to: app }", count: 1025).joined(separator: ", "))]",
                "routes: has 1025 values; give at most 1024"
            ),
            (
                "filters: [\(Array(repeating: "{ steps: [{ drop: true }] }", count: 257).joined(separator: ", "))]",
                "filters: has 257 values; give at most 256"
            ),
            (
                "filters: [{ steps: [\(Array(repeating: "{ drop: true }", count: 65).joined(separator: ", "))] }]",
                "filters[0].steps: has 65 values; give at most 64"
            ),
        ] as [(String, String)]
    )
    func list(text: String, expected: String) {
        let found = problems(text)
        #expect(found.begin(with: ["2: \(expected)"]), "\(found)")
    }

    @Test("Conditions have a bound on their depth")
    func depth() {
        let nested =
            String(repeating: "{ not: ", count: 8) + "{ tag: a }"
            + String(repeating: " }", count: 8)
        let found = problems("filters: [{ steps: [{ drop: true, when: \(nested) }] }]")
        #expect(found.count == 1)
        #expect(
            found.first?.hasSuffix(
                ".not: conditions are nested more than 8 deep; make a step or a filter of some of them"
            ) == true,
            "\(found)"
        )
    }

    @Test("All mistakes are told at once, and a wrong secret is not missing")
    func all() {
        let text = """
            filters:
              - match: "}"
                steps:
                  - redact: { fields: a, with: hash }
                  - drp: true
                  - drop: true
                    when: { field: a, matches: "[" }
            filters_secret: canary
            routes:
              - { to: apps }
              - { match: a, too: app }
            unrouted: nowhere
            """
        let found = problems(text)
        #expect(
            found.map { $0.split(separator: " ")[..<2].joined(separator: " ") } == [
                "3: filters[0].match:", "6: filters[0].steps[1].drp:",
                "8: filters[0].steps[2].when.matches:", "9: filters_secret:", "11: routes[0].to:",
                "12: routes[1].to:", "12: routes[1].too:", "13: unrouted:",
            ]
        )
        #expect(!found.joined().contains("canary"))
    }

    @Test("What all patterns need together is an error of the file")
    func tooManyStates() {
        let ending = String(repeating: "a", count: 200)
        let long = (0..<200).map { "{ match: t\($0)\(ending), to: app }" }
        let found = problems("routes: [\(long.joined(separator: ", "))]")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("2: routes: all patterns together need") == true, "\(found)")
    }
}
