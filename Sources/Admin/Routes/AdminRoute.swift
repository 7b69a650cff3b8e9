import Configuration
import HTTP
import Ingest
package import Queue
import System

/// What a request's path asks for.
package enum AdminRoute: Equatable {
    case health, readiness, metrics, status, queue, queuePeek, ledger, audit, drain, tail, document
    case session, sessionCode
    case history, configuration, clients, refusals
    case captures
    case capture(String), captureHAR(String), captureExport(String)
    case captureRecord(String, Int), captureCurl(String, Int), captureReplay(String, Int)
    /// `/` and `/console`, which lead to `/console/`.
    case consoleHome
    /// A file of the console; the empty name is its index.
    case console(String)
    case consoleStatus, consoleLogin
    case routes, routeTest
    case resolvers, resolverRefresh, resolverLookup
    case credentials
    case credential(String)
    case credentialVerify(String)
    case destinations
    case destination(String)
    case destinationPause(String), destinationResume(String), destinationFlush(String)
    case destinationTest(String)
    case deadLetters, deadLetterExport, deadLetterReplay, deadLetterPurge
    case deadLetter(LetterName)

    init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        switch (parts.first, parts.dropFirst().first, Array(parts.dropFirst(2))) {
        case ("healthz", nil, _): self = .health
        case ("readyz", nil, _): self = .readiness
        case ("metrics", nil, _): self = .metrics
        case ("", nil, _), ("console", nil, _): self = .consoleHome
        case ("console", "status", []): self = .consoleStatus
        case ("console", "login", []): self = .consoleLogin
        case ("console", let name?, []): self = .console(String(name))
        case ("admin", "history", []): self = .history
        case ("admin", "configuration", []): self = .configuration
        case ("admin", "clients", []): self = .clients
        case ("admin", "refusals", []): self = .refusals
        case ("admin", "captures", let rest): self.init(capture: rest)
        case ("admin", "session", []): self = .session
        case ("admin", "session", ["code"]): self = .sessionCode
        case ("admin", "status", []): self = .status
        case ("admin", "queue", []): self = .queue
        case ("admin", "queue", ["peek"]): self = .queuePeek
        case ("admin", "ledger", []): self = .ledger
        case ("admin", "routes", []): self = .routes
        case ("admin", "routes", ["test"]): self = .routeTest
        case ("admin", "resolvers", []): self = .resolvers
        case ("admin", "resolvers", ["refresh"]): self = .resolverRefresh
        case ("admin", "resolvers", ["lookup"]): self = .resolverLookup
        case ("admin", "audit", []): self = .audit
        case ("admin", "drain", []): self = .drain
        case ("admin", "tail", []): self = .tail
        case ("admin", "openapi.json", []): self = .document
        case ("admin", "credentials", let rest): self.init(credential: rest)
        case ("admin", "destinations", let rest): self.init(destination: rest)
        case ("admin", "dead-letters", let rest): self.init(deadLetter: rest)
        default: return nil
        }
    }

    private init?(destination rest: [Substring]) {
        guard let first = rest.first else {
            self = .destinations
            return
        }
        guard let name = percentDecodedText(Array(first.utf8)[...]), !name.isEmpty else {
            return nil
        }
        switch rest.dropFirst() {
        case []: self = .destination(name)
        case ["pause"]: self = .destinationPause(name)
        case ["resume"]: self = .destinationResume(name)
        case ["flush"]: self = .destinationFlush(name)
        case ["test"]: self = .destinationTest(name)
        default: return nil
        }
    }

    private init?(credential rest: [Substring]) {
        guard let first = rest.first else {
            self = .credentials
            return
        }
        guard let name = percentDecodedText(Array(first.utf8)[...]), !name.isEmpty else {
            return nil
        }
        switch rest.dropFirst() {
        case []: self = .credential(name)
        case ["verify"]: self = .credentialVerify(name)
        default: return nil
        }
    }

    private init?(capture rest: [Substring]) {
        guard let first = rest.first else {
            self = .captures
            return
        }
        let id = String(first)
        let number = rest.count > 2 ? Int(rest[2]).flatMap { $0 > 0 ? $0 : nil } : nil
        switch (rest.dropFirst().first, number, Array(rest.dropFirst(3))) {
        case (nil, nil, _): self = .capture(id)
        case ("har", nil, []) where rest.count == 2: self = .captureHAR(id)
        case ("export", nil, []) where rest.count == 2: self = .captureExport(id)
        case ("records", let number?, []): self = .captureRecord(id, number)
        case ("records", let number?, ["curl"]): self = .captureCurl(id, number)
        case ("records", let number?, ["replay"]): self = .captureReplay(id, number)
        default: return nil
        }
    }

    private init?(deadLetter rest: [Substring]) {
        switch rest {
        case []: self = .deadLetters
        case ["export"]: self = .deadLetterExport
        case ["replay"]: self = .deadLetterReplay
        case ["purge"]: self = .deadLetterPurge
        default:
            guard rest.count == 1, let name = LetterName(rest[0]), name.number > 0
            else { return nil }
            self = .deadLetter(name)
        }
    }

    /// The answer to any other path.
    static let hint =
        "no such path; there are /healthz, /readyz, /metrics, /console/, and under /admin/ status, queue, ledger, "
        + "credentials, destinations, routes, routes/test, resolvers, dead-letters, drain, tail, audit, captures, "
        + "refusals, clients, configuration, history, session and openapi.json"
    static let unknownPath = HTTPProblem(404, "PathNotExist", hint)

    /// True for requests without a token: orchestrators probe, browsers load the console, and a login brings its
    /// token or code itself.
    func isOpen(_ method: RequestHead.Method) -> Bool {
        switch self {
        case .health, .readiness, .consoleHome, .console, .consoleStatus, .consoleLogin: true
        case .session: method == .post
        default: false
        }
    }

    /// True for paths that only the console needs.
    var isOfConsole: Bool {
        switch self {
        case .consoleHome, .console, .consoleStatus, .consoleLogin, .session, .sessionCode: true
        default: false
        }
    }

    /// True for paths that are asked by browsers before they have a session.
    var isForBrowsers: Bool { isOfConsole && self != .sessionCode }

    var methods: [RequestHead.Method] {
        switch self {
        case .health, .readiness, .metrics, .status, .queue, .ledger, .audit, .tail, .document,
            .credentials, .destinations, .routes, .resolvers, .deadLetters, .deadLetterExport,
            .consoleHome, .console, .consoleStatus, .queuePeek, .history, .configuration, .clients,
            .refusals,
            .captureHAR, .captureExport, .captureRecord, .captureCurl:
            [.get, .head]
        case .captures: [.get, .head, .post]
        case .capture: [.get, .head, .delete]
        case .session: [.get, .head, .post, .delete]
        case .sessionCode, .consoleLogin, .captureReplay: [.post]
        case .deadLetterReplay, .deadLetterPurge, .destinationPause, .destinationResume,
            .destinationFlush, .destinationTest:
            [.post]
        case .credential: [.get, .head, .put, .delete]
        case .credentialVerify, .routeTest, .resolverRefresh, .resolverLookup: [.post]
        case .drain: [.get, .head, .post, .delete]
        case .destination: [.get, .head, .patch, .delete]
        case .deadLetter: [.get, .head, .put]
        }
    }

    /// True if the request changes nothing, so that a token for reading is enough.
    func isReading(_ head: RequestHead) -> Bool {
        switch self {
        case .routeTest, .session, .sessionCode, .consoleLogin: true
        case .captureReplay: head.isDryReplay
        default: head.method.isReading
        }
    }

    var methodNames: String { methods.map(\.name).joined(separator: ", ") }

    /// The parameters that the query may have.
    func queryNames(_ method: RequestHead.Method) -> [String] {
        let page = ["destination", "logstore", "code", "after", "limit"]
        return switch self {
        case .audit: ["before", "after", "limit"]
        case .queue: ["destination", "streams", "order"]
        case .queuePeek: ["destination", "logstore", "limit"]
        case .history: ["window"]
        case .captureReplay: ["dry"]
        case .tail: ["destination", "logstore", "topic", "tag", "field", "rate"]
        case .resolverRefresh: ["host"]
        case .resolverLookup: ["host", "with", "port"]
        case .deadLetters, .deadLetterExport: page
        case .deadLetterReplay, .deadLetterPurge:
            ["destination", "logstore", "code", "ids", "all"]
        case .deadLetter where method == .put: ["logstore"]
        case .credential where method == .put: ["force"]
        default: []
        }
    }

    /// The largest body of a request with this method.
    func bodyBytesMax(_ method: RequestHead.Method) -> Int {
        switch method {
        case .put: if case .credential = self { 64 << 10 } else { 10 << 20 }
        case .patch: DecidedSettings.bytesMax
        case .post:
            switch self {
            case .routeTest: RouteQuestion.bytesMax
            case .session, .consoleLogin: SessionDesk.bodyBytesMax
            case .captures: 4 << 10
            case .captureReplay: 64 << 10
            default: 0
            }
        default: 0
        }
    }
}

extension RequestHead.Method {
    /// True if the method changes nothing.
    var isReading: Bool { self == .get || self == .head }

    var name: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .patch: "PATCH"
        case .delete: "DELETE"
        case .options: "OPTIONS"
        case .other: "other"
        }
    }
}

// MARK: - Labels

extension AdminRoute {
    /// The names under which answers are counted; the first is for unknown paths.
    package static let labels = [
        "other", "healthz", "readyz", "metrics", "status", "queue", "ledger", "audit", "drain",
        "credentials",
        "destinations", "dead_letters", "tail", "openapi", "routes", "resolvers",
        "console", "session", "history", "configuration", "clients", "refusals", "captures",
    ]

    static func label(ofPath path: String) -> Int {
        guard let route = AdminRoute(path: path) else { return 0 }
        return labels.firstIndex(of: route.label) ?? 0
    }

    /// A path with a name or number counts as the list, because there may be any number of them.
    private var label: String {
        switch self {
        case .health: "healthz"
        case .readiness: "readyz"
        case .metrics: "metrics"
        case .status: "status"
        case .queue, .queuePeek: "queue"
        case .ledger: "ledger"
        case .routes, .routeTest: "routes"
        case .resolvers, .resolverRefresh, .resolverLookup: "resolvers"
        case .audit: "audit"
        case .drain: "drain"
        case .tail: "tail"
        case .document: "openapi"
        case .consoleHome, .console, .consoleStatus, .consoleLogin: "console"
        case .session, .sessionCode: "session"
        case .history: "history"
        case .configuration: "configuration"
        case .clients: "clients"
        case .refusals: "refusals"
        case .captures, .capture, .captureHAR, .captureExport, .captureRecord, .captureCurl,
            .captureReplay:
            "captures"
        case .credentials, .credential, .credentialVerify: "credentials"
        case .destinations, .destination, .destinationPause, .destinationResume,
            .destinationFlush, .destinationTest:
            "destinations"
        case .deadLetters, .deadLetterExport, .deadLetterReplay, .deadLetterPurge, .deadLetter:
            "dead_letters"
        }
    }
}

extension Response {
    func labelled(_ label: Int) -> Response {
        var labelled = self
        labelled.label = label
        return labelled
    }
}
