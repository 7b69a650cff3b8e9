import Configuration
import HTTP
import Ingest
import System

/// An operation of the admin API in one row: the request, who may make it, and what answers it.
package struct AdminRoute: Sendable {
    enum Access {
        /// Everybody: probes, files of the console, and logins, which bring a token or code.
        case stranger
        /// Everybody; the holder of a token or session learns more.
        case strangerOrReader
        /// A token for reading is enough, because the operation changes nothing.
        case reader
        case full
        /// A dry run changes nothing.
        case readerIfDry
    }

    typealias Operation = @Sendable (AdminCall) -> () throws(HTTPProblem) -> Response?
    typealias SecretOperation =
        @Sendable (AdminHandler) -> (AdminCall, UnsafeRawBufferPointer) throws(HTTPProblem) ->
        Response?

    enum Answer: Sendable {
        /// On this thread, or on that of the listener.
        case request(on: AdminCall.Thread?, Operation)
        /// On the listener's thread with the body as it came: it may hold a secret.
        case handler(SecretOperation)
    }

    let method: RequestHead.Method
    /// As in docs/openapi.json.
    let path: String
    /// The parameters that the query may have.
    let queryNames: [String]
    let access: Access
    let bodyBytesMax: Int
    /// Other gateways of the cluster may ask for it in the name of their operators.
    let isRelayed: Bool
    let answer: Answer
    private let segments: [Substring]
    /// The name under which answers are counted: there may be any number of paths.
    private let label: String

    private init(
        _ request: String,
        for access: Access?,
        body bodyBytesMax: Int,
        isRelayed: Bool = false,
        _ answer: Answer
    ) {
        let words = request.split(separator: " ")
        let target = words[1].split(separator: "?")
        method = RequestHead.Method.changing.first { $0.name == words[0] } ?? .get
        path = String(target[0])
        queryNames = target.dropFirst().flatMap { $0.split(separator: "&").map(String.init) }
        self.access = access ?? (method == .get ? .reader : .full)
        self.bodyBytesMax = bodyBytesMax
        self.isRelayed = isRelayed
        self.answer = answer
        segments = Self.segments(path)
        let name = segments[0] == "admin" ? segments[1] : segments[0]
        let word = String(name.prefix { $0 != "." })
        label = word.isEmpty ? "console" : word.replacing("-", with: "_")
    }

    private static func route(
        _ request: String,
        for access: Access? = nil,
        on thread: AdminCall.Thread? = nil,
        body bodyBytesMax: Int = 0,
        isRelayed: Bool = false,
        _ answer: @escaping Operation
    ) -> AdminRoute {
        AdminRoute(
            request,
            for: access,
            body: bodyBytesMax,
            isRelayed: isRelayed,
            .request(on: thread, answer)
        )
    }

    private static func secret(
        _ request: String,
        for access: Access? = nil,
        body bodyBytesMax: Int = 0,
        _ answer: @escaping SecretOperation
    ) -> AdminRoute {
        AdminRoute(request, for: access, body: bodyBytesMax, .handler(answer))
    }

    /// The first row whose path fits decides. GET has HEAD with it.
    static let all: [AdminRoute] = [
        route("GET /healthz", for: .stranger, AdminCall.health),
        route("GET /readyz", for: .strangerOrReader, AdminCall.readiness),
        route("GET /metrics", AdminCall.metrics),
        route("GET /", for: .stranger, AdminCall.consoleHome),
        route("GET /console", for: .stranger, AdminCall.consoleHome),
        route("GET /console/status", for: .strangerOrReader, AdminCall.consoleStatus),
        secret("POST \(loginForm)", for: .stranger, body: 1024, AdminHandler.logInFromForm),
        route("GET /console/{file}", for: .stranger, AdminCall.consoleFile),
        route("GET /admin/session", AdminCall.session),
        secret("POST /admin/session", for: .stranger, body: 1024, AdminHandler.logIn),
        secret("DELETE /admin/session", for: .reader, AdminHandler.logOut),
        secret("POST \(sessionCode)", for: .reader, AdminHandler.makeCode),
        route("GET /admin/status", AdminCall.status),
        route("GET /admin/history?window", AdminCall.history),
        route("GET /admin/configuration", AdminCall.configuration),
        route("GET /admin/ledger", AdminCall.ledger),
        route("GET /admin/openapi.json", AdminCall.document),
        route("GET /admin/audit?before&after&limit", AdminCall.changes),
        route("GET /admin/drain", AdminCall.drain),
        route("POST /admin/drain", on: .changes, AdminCall.beginDrain),
        route("DELETE /admin/drain", on: .changes, AdminCall.endDrain),
        route("GET /admin/clients", AdminCall.clients),
        route("GET /admin/refusals", AdminCall.refusals),
        route("GET /admin/tail?destination&logstore&topic&tag&field&rate", AdminCall.tail),
        route("GET /admin/routes", AdminCall.rules),
        route(
            "POST /admin/routes/test",
            for: .reader,
            on: .views,
            body: RouteQuestion.bytesMax,
            AdminCall.testRoutes
        ),
        route("GET /admin/queue?destination&streams&order", isRelayed: true, AdminCall.queue),
        route(
            "GET /admin/queue/peek?destination&logstore&limit",
            on: .views,
            isRelayed: true,
            AdminCall.oldestLogs
        ),
        route("GET /admin/captures", AdminCall.listCaptures),
        route("POST /admin/captures", body: 4 << 10, AdminCall.startCapture),
        route("GET /admin/captures/{id}", on: .views, AdminCall.capture),
        route("DELETE /admin/captures/{id}", AdminCall.stopCapture),
        route("GET /admin/captures/{id}/har", AdminCall.captureArchive),
        route("GET /admin/captures/{id}/export", AdminCall.captureExport),
        route("GET /admin/captures/{id}/records/{n}", on: .views, AdminCall.captureRecord),
        route("GET /admin/captures/{id}/records/{n}/curl", on: .views, AdminCall.captureCurl),
        route(
            "POST /admin/captures/{id}/records/{n}/replay?dry",
            for: .readerIfDry,
            on: .views,
            body: 64 << 10,
            AdminCall.replayCapture
        ),
        route(
            "GET /admin/dead-letters?\(page)",
            on: .views,
            isRelayed: true,
            AdminCall.deadLetters
        ),
        route(
            "GET /admin/dead-letters/export?\(page)",
            on: .views,
            isRelayed: true,
            AdminCall.exportLetters
        ),
        route(
            "POST /admin/dead-letters/replay?\(some)",
            isRelayed: true,
            AdminCall.replayLetters
        ),
        route("POST /admin/dead-letters/purge?\(some)", isRelayed: true, AdminCall.purgeLetters),
        route("GET /admin/dead-letters/{id}", on: .views, isRelayed: true, AdminCall.deadLetter),
        route(
            "PUT /admin/dead-letters/{id}?logstore",
            body: 10 << 20,
            isRelayed: true,
            AdminCall.editLetter
        ),
        route("GET /admin/destinations", AdminCall.destinations),
        route("GET /admin/destinations/{name}", AdminCall.destination),
        route(
            "PATCH /admin/destinations/{name}",
            on: .changes,
            body: DecidedSettings.bytesMax,
            AdminCall.patchDestination
        ),
        route("DELETE /admin/destinations/{name}", on: .changes, AdminCall.resetDestination),
        route("POST /admin/destinations/{name}/pause", on: .changes, AdminCall.pause),
        route("POST /admin/destinations/{name}/resume", on: .changes, AdminCall.resume),
        route("POST /admin/destinations/{name}/flush", on: .changes, AdminCall.flush),
        route("POST /admin/destinations/{name}/test", on: .proofs, AdminCall.testDestination),
        route("GET /admin/resolvers", AdminCall.resolvers),
        route("POST /admin/resolvers/refresh?host", AdminCall.refreshAddresses),
        route("POST /admin/resolvers/lookup?host&with&port", AdminCall.lookUp),
        route("GET /admin/credentials", AdminCall.credentials),
        route("GET /admin/credentials/{name}", AdminCall.credential),
        secret("PUT /admin/credentials/{name}?force", body: 64 << 10, AdminHandler.rotate),
        route("DELETE /admin/credentials/{name}", on: .changes, AdminCall.forgetCredential),
        route("POST /admin/credentials/{name}/verify", on: .proofs, AdminCall.verifyCredential),
    ]

    private static let loginForm = "/console/login"
    private static let sessionCode = "/admin/session/code"
    private static let page = "destination&logstore&code&after&limit"
    private static let some = "destination&logstore&code&ids&all"

    // MARK: - Finding

    /// The operations of a path, and the values of its parameters.
    struct Found {
        let routes: [AdminRoute]
        let values: [String]

        subscript(method: RequestHead.Method) -> AdminRoute? {
            routes.first { $0.method == (method == .head ? .get : method) }
        }

        var methodNames: String {
            routes.map { $0.method == .get ? "GET, HEAD" : $0.method.name }.joined(separator: ", ")
        }
    }

    static func find(_ path: String) -> Found? {
        let parts = segments(path)
        for route in all {
            guard let values = route.values(parts) else { continue }
            return Found(routes: all.filter { $0.path == route.path }, values: values)
        }
        return nil
    }

    private static func segments(_ path: String) -> [Substring] {
        Array(path.split(separator: "/", omittingEmptySubsequences: false).dropFirst())
    }

    private func values(_ parts: [Substring]) -> [String]? {
        guard parts.count == segments.count else { return nil }
        var values: [String] = []
        for (segment, part) in zip(segments, parts) {
            guard segment.hasPrefix("{") else {
                guard segment == part else { return nil }
                continue
            }
            // The console's file without a name is its index.
            guard let value = percentDecodedText(Array(part.utf8)[...]),
                !value.isEmpty || segment == "{file}"
            else { return nil }
            values.append(value)
        }
        return values
    }

    static let unknownPath = HTTPProblem.notFound(
        "PathNotExist",
        "no such path; there are /healthz, /readyz, /metrics, /console/, and under /admin/ status, queue, ledger, "
            + "credentials, destinations, routes, routes/test, resolvers, dead-letters, drain, tail, audit, captures, "
            + "refusals, clients, configuration, history, session and openapi.json"
    )

    // MARK: - Rules

    /// True for paths that only the console needs.
    var isOfConsole: Bool { label == "console" || label == "session" }

    /// True for paths that are asked by browsers before they have a session.
    func isForBrowsers(_ head: RequestHead) -> Bool {
        isOfConsole && path != Self.sessionCode
            || path == "/readyz" && head.fieldRange("sec-fetch-site") != nil
    }

    var takesForm: Bool { path == Self.loginForm }

    /// True if the request changes nothing, so that a token for reading is enough.
    func isReading(_ head: RequestHead) -> Bool {
        access == .readerIfDry ? head.isDryReplay : access != .full
    }

    /// The problem of the query. An unknown parameter may be a misspelt filter: an error.
    func problem(withQueryOf head: RequestHead) -> HTTPProblem? {
        guard let pairs = head.queryPairs else { return .query("the query cannot be read") }
        var seen: Set<String> = []
        for (name, value) in pairs {
            guard queryNames.contains(name) else {
                let rest =
                    queryNames.isEmpty
                    ? "this path has none" : "known: \(queryNames.joined(separator: ", "))"
                return .query("\(clipped(name)) is not a parameter here; \(rest)")
            }
            // A tail may filter by several fields and tags.
            let mayRepeat = label == "tail" && (name == "field" || name == "tag")
            guard seen.insert(name).inserted || mayRepeat else {
                return .query("\(name) is given twice")
            }
            if ["dry", "force"].contains(name), value != "true", value != "false" {
                return .query("\(name) is true or false, got \(clipped(value))")
            }
        }
        return nil
    }

    // MARK: - Labels

    /// The names under which answers are counted; the first is for unknown paths.
    package static let labels = all.reduce(into: ["other"]) { labels, route in
        if !labels.contains(route.label) { labels.append(route.label) }
    }

    static func labelIndex(_ found: Found?) -> Int {
        found.flatMap { labels.firstIndex(of: $0.routes[0].label) } ?? 0
    }
}

extension RequestHead.Method {
    var isReading: Bool { self == .get || self == .head }

    fileprivate static let changing: [RequestHead.Method] = [.post, .put, .patch, .delete]

    var name: String { "\(self)".uppercased() }
}
