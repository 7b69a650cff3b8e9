import Configuration
import Routing
import System
import TestConfiguration
import TestSupport
import Testing

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
        let keys = [
            "ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "secret",
        ]
        let configuration = try read(Self.destinations + text, keys)
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
