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

@Suite(.timeLimit(.minutes(1))) struct OpenAPITests {
    /// Each route once, with an example where its path has a parameter.
    private static let routes: [AdminRoute] = [
        .health, .readiness, .metrics, .status, .queue, .ledger, .audit, .drain, .tail, .document,
        .credentials, .credential("x"), .credentialVerify("x"), .destinations, .destination("x"),
        .destinationPause("x"), .destinationResume("x"), .destinationFlush("x"), .routes,
        .routeTest, .resolvers, .resolverRefresh, .resolverLookup,
        .deadLetters,
        .deadLetterExport, .deadLetterReplay, .deadLetterPurge,
        .deadLetter(LetterName(shard: nil, number: 1)), .queuePeek,
        .destinationTest("x"), .session, .sessionCode, .history, .configuration, .clients,
        .refusals, .captures, .capture("1"), .captureHAR("1"), .captureExport("1"),
        .captureRecord("1", 2), .captureCurl("1", 2), .captureReplay("1", 2),
    ]

    /// A new route stops the compiler here; it needs an entry in `routes` too.
    private static func template(_ route: AdminRoute) -> String {
        switch route {
        case .health: "/healthz"
        case .readiness: "/readyz"
        case .metrics: "/metrics"
        case .status: "/admin/status"
        case .queue: "/admin/queue"
        case .queuePeek: "/admin/queue/peek"
        case .session: "/admin/session"
        case .sessionCode: "/admin/session/code"
        case .history: "/admin/history"
        case .configuration: "/admin/configuration"
        case .clients: "/admin/clients"
        case .refusals: "/admin/refusals"
        case .captures: "/admin/captures"
        case .capture: "/admin/captures/{id}"
        case .captureHAR: "/admin/captures/{id}/har"
        case .captureExport: "/admin/captures/{id}/export"
        case .captureRecord: "/admin/captures/{id}/records/{n}"
        case .captureCurl: "/admin/captures/{id}/records/{n}/curl"
        case .captureReplay: "/admin/captures/{id}/records/{n}/replay"
        // Pages for browsers are no requests of the API.
        case .consoleHome, .console, .consoleStatus, .consoleLogin: ""
        case .destinationTest: "/admin/destinations/{name}/test"
        case .ledger: "/admin/ledger"
        case .routes: "/admin/routes"
        case .routeTest: "/admin/routes/test"
        case .resolvers: "/admin/resolvers"
        case .resolverRefresh: "/admin/resolvers/refresh"
        case .resolverLookup: "/admin/resolvers/lookup"
        case .audit: "/admin/audit"
        case .drain: "/admin/drain"
        case .tail: "/admin/tail"
        case .document: "/admin/openapi.json"
        case .credentials: "/admin/credentials"
        case .credential: "/admin/credentials/{name}"
        case .credentialVerify: "/admin/credentials/{name}/verify"
        case .destinations: "/admin/destinations"
        case .destination: "/admin/destinations/{name}"
        case .destinationPause: "/admin/destinations/{name}/pause"
        case .destinationResume: "/admin/destinations/{name}/resume"
        case .destinationFlush: "/admin/destinations/{name}/flush"
        case .deadLetters: "/admin/dead-letters"
        case .deadLetterExport: "/admin/dead-letters/export"
        case .deadLetterReplay: "/admin/dead-letters/replay"
        case .deadLetterPurge: "/admin/dead-letters/purge"
        case .deadLetter: "/admin/dead-letters/{id}"
        }
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
        #expect(Set(paths.keys) == Set(Self.routes.map(Self.template)))
        for route in Self.routes {
            let template = Self.template(route)
            let path = template.replacing("{name}", with: "x").replacing("{id}", with: "1")
                .replacing("{n}", with: "2")
            #expect(AdminRoute(path: path) == route, "\(path)")
            let methods = Set(route.methods.map { $0.name.lowercased() })
            #expect(paths[template].map { Set($0.keys) } == methods, "\(template)")
        }
    }

    @Test("The document names the parameters that a query may have, and no other")
    func parameters() throws {
        for route in Self.routes {
            for method in route.methods {
                let operation = paths[Self.template(route)]?[method.name.lowercased()]
                let names = parameters(of: operation).filter { $0["in"] as? String == "query" }
                    .compactMap { $0["name"] as? String }
                #expect(names.sorted() == route.queryNames(method).sorted(), "\(route) \(method)")
                let takesBody = route.bodyBytesMax(method) > 0
                #expect((operation?["requestBody"] != nil) == takesBody, "\(route) \(method)")
            }
        }
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
