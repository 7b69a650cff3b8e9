/// The SLS operation that a path names.
enum SandboxRoute: Equatable, Sendable {
    /// A signed write; `routed` for a write by hash key.
    case put(logstore: String, routed: Bool)
    /// An unsigned write.
    case track(logstore: String)
    case serverTime
    case logstores
    case logstore(String)

    /// nil for paths that SLS does not have.
    init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.first == "" else { return nil }
        switch parts.dropFirst().first {
        case "servertime" where parts.count == 2: self = .serverTime
        case "logstores":
            switch parts.dropFirst(2) {
            case []: self = .logstores
            case let rest where rest.count == 1: self = .logstore(parts[2])
            case let rest where rest.count == 2 && parts[3] == "track":
                self = .track(logstore: parts[2])
            case let rest where rest.count == 3 && parts[3] == "shards" && parts[4] == "lb":
                self = .put(logstore: parts[2], routed: false)
            case let rest where rest.count == 3 && parts[3] == "shards" && parts[4] == "route":
                self = .put(logstore: parts[2], routed: true)
            default: return nil
            }
        default: return nil
        }
    }

    var logstore: String? {
        switch self {
        case .put(let logstore, _), .track(let logstore), .logstore(let logstore): logstore
        case .serverTime, .logstores: nil
        }
    }
}

/// SLS's rules for names.
enum Name {
    static func isProject(_ text: String) -> Bool {
        isValid(text, lengths: 3...63, underscore: false)
    }

    static func isLogstore(_ text: String) -> Bool {
        isValid(text, lengths: 2...63, underscore: true)
    }

    private static func isValid(_ text: String, lengths: ClosedRange<Int>, underscore: Bool) -> Bool
    {
        func isAlphanumeric(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        }
        let bytes = Array(text.utf8)
        guard
            lengths.contains(bytes.count), let first = bytes.first, let last = bytes.last,
            isAlphanumeric(first), isAlphanumeric(last)
        else { return false }
        return bytes.allSatisfy {
            isAlphanumeric($0) || $0 == UInt8(ascii: "-") || underscore && $0 == UInt8(ascii: "_")
        }
    }
}
