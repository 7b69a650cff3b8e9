import HTTP

/// What an operator asks for, by the path alone.
enum AdminRoute: Equatable {
    case health, readiness, metrics, status, audit
    case deadLetters, deadLetterExport, deadLetterReplay, deadLetterPurge
    /// One of them, by its number.
    case deadLetter(Int64)

    init?(path: String) {
        switch path {
        case "/healthz": self = .health
        case "/readyz": self = .readiness
        case "/metrics": self = .metrics
        case "/admin/status": self = .status
        case "/admin/audit": self = .audit
        case "/admin/dead-letters": self = .deadLetters
        case "/admin/dead-letters/export": self = .deadLetterExport
        case "/admin/dead-letters/replay": self = .deadLetterReplay
        case "/admin/dead-letters/purge": self = .deadLetterPurge
        default:
            let start = "/admin/dead-letters/"
            guard path.hasPrefix(start), let number = Int64(path.dropFirst(start.count)),
                number > 0
            else { return nil }
            self = .deadLetter(number)
        }
    }

    /// What a path answers to that is none of these.
    static let hint =
        "no such path; there are /healthz, /readyz, /metrics, /admin/status, /admin/audit and "
        + "/admin/dead-letters"

    /// Without a token: what orchestrators ask.
    var isOpen: Bool { self == .health || self == .readiness }

    var methods: [RequestHead.Method] {
        switch self {
        case .health, .readiness, .metrics, .status, .audit, .deadLetters, .deadLetterExport:
            [.get, .head]
        case .deadLetterReplay, .deadLetterPurge: [.post]
        case .deadLetter: [.get, .head, .put]
        }
    }

    var methodNames: String { methods.map(\.name).joined(separator: ", ") }

    /// The largest body that a request of this method may have.
    func bodyBytesMax(_ method: RequestHead.Method) -> Int {
        method == .put ? 10 << 20 : 0
    }
}

extension RequestHead.Method {
    /// Whether it only looks.
    var isReading: Bool { self == .get || self == .head }

    fileprivate var name: String {
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
