import Configuration
import Credentials
import Delivery
import Foundation
import HTTP
import Queue
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct OpenAPITests {
    /// Pages for browsers are no requests of the API.
    private static let routes = AdminRoute.all.filter {
        $0.path != "/" && !$0.path.hasPrefix("/console")
    }

    private let document: [String: Any]
    private let paths: [String: [String: [String: Any]]]

    init() throws {
        let object = try JSONSerialization.jsonObject(with: Data(ServedFile.openAPI.text.utf8))
        document = try #require(object as? [String: Any])
        paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
    }

    /// What a path such as `components.schemas.Error` leads to.
    private func value(at path: String) -> Any? {
        path.split(separator: ".").reduce(document) { ($0 as? [String: Any])?[String($1)] }
    }

    private func parameters(of operation: [String: Any]?) -> [[String: Any]] {
        (operation?["parameters"] as? [[String: Any]] ?? []).map { parameter in
            guard let reference = parameter["$ref"] as? String else { return parameter }
            let path = reference.dropFirst(2).replacing("/", with: ".")
            return value(at: String(path)) as? [String: Any] ?? [:]
        }
    }

    @Test("Each route and method has an operation in the document, and the other way round")
    func routes() {
        #expect(Set(paths.keys) == Set(Self.routes.map(\.path)))
        for route in Self.routes {
            let path = route.path.replacing("{name}", with: "x").replacing("{id}", with: "1")
                .replacing("{n}", with: "2")
            let found = AdminRoute.find(path)
            #expect(found?.routes.map(\.path).contains(route.path) == true, "\(path)")
            #expect(found?[route.method]?.path == route.path, "\(path)")
            let names = found?.methodNames.lowercased().split(separator: ", ").map(String.init)
            #expect(paths[route.path].map { $0.keys.sorted() } == names?.sorted(), "\(path)")
        }
    }

    @Test("The document names the parameters that a query may have, and no other")
    func parameters() throws {
        for route in Self.routes {
            for method in route.method == .get ? ["get", "head"] : [route.method.name.lowercased()]
            {
                let operation = paths[route.path]?[method]
                let names = parameters(of: operation).filter { $0["in"] as? String == "query" }
                    .compactMap { $0["name"] as? String }
                #expect(names.sorted() == route.queryNames.sorted(), "\(method) \(route.path)")
                let takesBody = route.bodyBytesMax > 0
                #expect((operation?["requestBody"] != nil) == takesBody, "\(method) \(route.path)")
            }
        }
    }

    @Test(
        "Only the listed requests need no token, or a token for reading although they are changes"
    )
    func access() {
        let open = AdminRoute.all.filter { [.stranger, .strangerOrReader].contains($0.access) }
        #expect(
            Set(open.map { "\($0.method.name) \($0.path)" }) == [
                "GET /healthz", "GET /readyz", "GET /", "GET /console", "GET /console/status",
                "POST /console/login", "GET /console/{file}", "POST /admin/session",
            ]
        )
        let reading = AdminRoute.all.filter { $0.method != .get && $0.access == .reader }
        #expect(
            Set(reading.map { "\($0.method.name) \($0.path)" }) == [
                "DELETE /admin/session", "POST /admin/session/code", "POST /admin/routes/test",
            ]
        )
        let relayed = AdminRoute.all.filter(\.isRelayed)
        #expect(
            Set(relayed.map { "\($0.method.name) \($0.path)" }) == [
                "GET /admin/queue", "GET /admin/queue/peek", "GET /admin/dead-letters",
                "GET /admin/dead-letters/export", "GET /admin/dead-letters/{id}",
                "PUT /admin/dead-letters/{id}", "POST /admin/dead-letters/replay",
                "POST /admin/dead-letters/purge",
            ]
        )
        #expect(AdminRoute.all.allSatisfy { !$0.isOfConsole || $0.access != .full })
    }

    @Test(
        "A path with a parameter's name for its value, or with an empty one, is none",
        arguments: [
            "/admin/destinations/", "/admin/credentials//verify", "/admin", "/admin/", "",
            "/admin/status/", "/healthz/x", "/console/a/b", "/admin/nothing",
        ]
    )
    func unknown(path: String) {
        #expect(AdminRoute.find(path) == nil)
        #expect(AdminRoute.find("/admin/destinations/{name}")?.values == ["{name}"])
        #expect(AdminRoute.find("/admin/destinations/a%2Fb/test")?.values == ["a/b"])
        #expect(AdminRoute.find("/console/")?.values == [""])
    }

    @Test("Every operation has its own id, and only /healthz and /readyz need no token")
    func operations() throws {
        let all = paths.flatMap { path, methods in methods.map { (path, $0.value) } }
        let ids = all.compactMap { $0.1["operationId"] as? String }
        #expect(Set(ids).count == ids.count && ids.count == all.count)
        let open = all.filter { $0.1["security"] != nil }.map(\.0)
        #expect(Set(open) == ["/healthz", "/readyz"])
    }

    @Test("Every component of the document exists and is referenced")
    func references() throws {
        let components = try #require(document["components"] as? [String: [String: Any]])
        let pattern = /"\$ref": "#\/components\/([a-z]+)\/([A-Za-z-]+)"/
        var named: Set<String> = []
        for match in ServedFile.openAPI.text.matches(of: pattern) {
            #expect(components[String(match.1)]?[String(match.2)] != nil, "\(match.2)")
            named.insert("\(match.1).\(match.2)")
        }
        for kind in ["headers", "parameters", "responses", "schemas"] {
            for name in try #require(components[kind]).keys {
                #expect(named.contains("\(kind).\(name)"), "nothing refers to \(kind) \(name)")
            }
        }
    }

    @Test("The links of answers name existing operations and parameters")
    func links() throws {
        let operations = paths.flatMap { $0.value.values }
        var count = 0
        for operation in operations {
            let answers = try #require(operation["responses"] as? [String: [String: Any]])
            for case let links as [String: [String: Any]] in answers.values.map({ $0["links"] }) {
                for link in links.values {
                    count += 1
                    let id = try #require(link["operationId"] as? String)
                    let target = try #require(
                        operations.first { $0["operationId"] as? String == id },
                        "\(id)"
                    )
                    let known = parameters(of: target).compactMap { parameter -> String? in
                        guard let name = parameter["name"], let place = parameter["in"] else {
                            return nil
                        }
                        return "\(place).\(name)"
                    }
                    let given = try #require(link["parameters"] as? [String: String])
                    for name in given.keys {
                        #expect(
                            known.contains { $0 == name || $0.hasSuffix(".\(name)") },
                            "\(id) \(name)"
                        )
                    }
                }
            }
        }
        #expect(count >= 10)
    }

    @Test("The document lists the values and bounds that the program uses")
    func values() throws {
        func expect(_ path: String, lists words: [String]) {
            #expect(value(at: "components.schemas.\(path).enum") as? [String] == words, "\(path)")
        }
        expect("Admission", lists: QueueAdmission.all.map(\.name))
        expect("DestinationStatus.properties.state", lists: DestinationStatus.stateNames)
        expect("Outlet.properties.state", lists: ["idle"] + OutletStatus.stateNames)
        expect(
            "DeliveryError.properties.kind",
            lists: DeliveryFailure.Kind.allCases.map(\.rawValue)
        )
        expect(
            "Credential.properties.state",
            lists: CredentialStatus.State.allCases.map(\.rawValue)
        )
        let patch = value(at: "components.schemas.DestinationPatch.properties.stamp.anyOf")
        let stamps = (patch as? [[String: Any]])?.first?["properties"]
        let facts = try #require(stamps as? [String: Any]).keys
        #expect(Set(facts) == Set(SenderStamps.Fact.allCases.map(\.rawValue)))
        let tags = value(at: "components.schemas.StreamQueue.properties.tags.maxItems")
        #expect(tags as? Int == StreamNames.tagsMax)
        let queue = parameters(of: paths["/admin/queue"]?["get"])
        let schemas = queue.map { $0["schema"] as? [String: Any] }
        #expect(schemas.contains { $0?["maximum"] as? Int == StreamWish.countMax })
        let orders = StreamWish.Order.allCases.map(\.rawValue)
        #expect(schemas.contains { $0?["enum"] as? [String] == orders })
        #expect(value(at: "info.version") as? String == Version.current)
    }

    @Test("docs/admin.md lists the requests of the document, and no others")
    func page() throws {
        let page = try String(contentsOfFile: repositoryFile("docs/admin.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let named = rows.flatMap { row in
            let requests = row.dropFirst(2).prefix { $0 != "|" }
            return requests.matches(of: /`([A-Z]+ \/[^`]*)`/).map { String($0.1) }
        }
        let described = paths.flatMap { path, operations in
            operations.keys.filter { $0 != "head" }.map { "\($0.uppercased()) \(path)" }
        }
        #expect(Set(described).subtracting(named).sorted() == [], "not on the page")
        #expect(Set(named).subtracting(described).sorted() == [], "not in the document")
        #expect(named.count == Set(named).count, "each once")
    }

    @Test("The document is served with a token only")
    func served() throws {
        let trial = try SandboxedGateway()
        #expect(try trial.admin.get("/admin/openapi.json").status == 401)
        let answer = try trial.admin("/admin/openapi.json")
        #expect(answer.status == 200)
        #expect(answer["content-type"] == "application/json")
        #expect(answer.text == ServedFile.openAPI.text)
    }
}
