import Configuration
import Routing
import System
import TestConfiguration
import TestSupport
import Testing

@Suite struct RoutingWarningTests {
    private func warnings(_ text: String) throws -> [String] {
        try read(minimal + "listen: 127.0.0.1:8080\n" + text + "\n").startWarnings
    }

    @Test(
        "A route behind the last one for its tags is told",
        arguments: [
            ("a.*", "a.*", true), ("**", "a.b", true), ("a.**", "a.b.*", true), ("a.**", "a", true),
            ("[a, \"b.**\"]", "[\"b.c\", a]", true), ("a.**", "a.{b,c}", true),
            ("a.**", "ab.c", false), ("a.**", "\"a.b c\"", false), ("a.*", "a.**", false),
            ("\"a.** b.**\"", "a.c", false), ("\"{a,b}.**\"", "a.c", false), ("a.**", "**", false),
        ] as [(String, String, Bool)]
    )
    func route(first: String, second: String, isHidden: Bool) throws {
        let quote = { (text: String) in
            text.hasPrefix("[") || text.hasPrefix("\"") ? text : "\"\(text)\""
        }
        let text =
            "routes: [{ match: \(quote(first)), to: app, last: true }, { match: \(quote(second)), to: app }]"
        let warning =
            "routes[1] never takes a log, because routes[0] is the last for every tag that it matches; change "
            + "their order, or take one of them away"
        #expect(try warnings(text) == (isHidden ? [warning] : []))
        #expect(try warnings(text.replacing(", last: true", with: "")) == [])
    }

    @Test("A route without a pattern hides all others, and only such a one hides it")
    func everyTag() throws {
        #expect(try warnings("routes: [{ to: app, last: true }, { match: a, to: app }]").count == 1)
        #expect(try warnings("routes: [{ match: a, to: app, last: true }, { to: app }]") == [])
        #expect(
            try warnings("routes: [{ match: \"**\", to: [], last: true }, { to: app }]").count == 1
        )
    }

    @Test("Steps and filters behind an unconditional drop are told")
    func drop() throws {
        #expect(
            try warnings("filters: [{ steps: [{ keep: a }, { drop: true }, { remove: b }] }]") == [
                "filters[0].steps[1] drops every log, so the steps after it have no effect; give it a condition "
                    + "(when), or take them away"
            ]
        )
        #expect(
            try warnings("filters: [{ steps: [{ drop: true, when: { tag: a } }, { remove: b }] }]")
                == []
        )
        let hidden =
            "filters: [{ match: \"a.**\", steps: [{ drop: true }] }, { match: a.b, steps: [{ keep: x }] }]"
        #expect(
            try warnings(hidden) == [
                "filters[1] never sees a log, because filters[0] drops every log that it matches; change their "
                    + "order, or take one of them away"
            ]
        )
        let between = hidden.replacing(
            "}, { match: a.b",
            with: "}, { steps: [{ tag: a.b }] }, { match: a.b"
        )
        #expect(try warnings(between) == [])
    }

    @Test("What becomes of unrouted logs needs routes")
    func unrouted() throws {
        #expect(
            try warnings("unrouted: drop") == [
                "unrouted is drop, which has no effect without routes; with routes: [] nothing is routed"
            ]
        )
        #expect(try warnings("unrouted: drop\nroutes: []") == [])
        #expect(try warnings("unrouted: default") == [])
    }
}

/// The examples of docs/routing-recipes.md.
@Suite struct RoutingRecipesTests {
    private static let destinations = """
        destinations:
          app: { endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: app }
          errors: { endpoint: cn-hangzhou.log.aliyuncs.com, project: my-project, logstore: err }

        """
    private static let recipes: [String] = {
        let page = readFile(repositoryFile("docs/routing-recipes.md"))
        return String(decoding: page, as: UTF8.self).components(between: "```yaml\n", and: "```")
    }()

    @Test("A recipe is a configuration without a warning", arguments: recipes)
    func isRead(recipe: String) throws {
        let text = recipe.replacing("${file:/run/secrets/sluice-filters}", with: "0123456789abcdef")
        let configuration = try read(Self.destinations + text)
        #expect(!configuration.routing.isEmpty)
        _ = try Router(configuration.routing)
        let warnings = configuration.warnings(at: .now)
        #expect(warnings.filter { $0.contains("filters") || $0.contains("route") } == [])
    }

    @Test("The page has a recipe for each of its headings")
    func count() {
        #expect(Self.recipes.count >= 6)
    }
}

extension String {
    fileprivate func components(between start: String, and end: String) -> [String] {
        var (found, rest) = ([String](), self[...])
        while let open = rest.firstRange(of: start) {
            rest = rest[open.upperBound...]
            guard let close = rest.firstRange(of: end) else { break }
            found.append(String(rest[..<close.lowerBound]))
            rest = rest[close.upperBound...]
        }
        return found
    }
}
