import JSON
import Net

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

extension Sandbox {
    private static let controlPaths: Set = [
        "/", "/logs", "/stats", "/faults", "/limits", "/keys", "/poisons", "/names",
    ]

    /// Requests to the sandbox itself, by people and tests.
    static func isControl(_ path: String) -> Bool {
        controlPaths.contains(path) || faultID(path) != nil
    }

    /// Of `/faults/{id}`.
    private static func faultID(_ path: String) -> Int? {
        path.hasPrefix("/faults/") ? Int(path.dropFirst(8)) : nil
    }

    func answerControl(_ request: ReceivedRequest) -> Answer {
        do throws(SLSRefusal) {
            return try carryOutControl(request)
        } catch {
            return .text("application/json", error.body + Array("\n".utf8), status: error.status)
        }
    }

    private func carryOutControl(_ request: ReceivedRequest) throws(SLSRefusal) -> Answer {
        switch (request.path, request.method == "HEAD" ? "GET" : request.method) {
        case ("/", "GET"): return try page(request)
        case ("/logs", "GET"): return try logs(request)
        case ("/logs", "DELETE"): return try clearLogs()
        case ("/stats", "GET"): return stats()
        case ("/faults", "GET"): return listFaults()
        case ("/faults", "POST"): return try addFault(request)
        case ("/faults", "DELETE"): return try removeFaults(nil)
        case ("/limits", "GET"): return listLimits()
        case ("/limits", "POST"): return try setLimit(request)
        case ("/limits", "DELETE"): return removeLimits(request)
        case ("/keys", "GET"): return listKeys()
        case ("/keys", "POST"): return try setKey(request)
        case ("/keys", "DELETE"): return try removeKey(request)
        case ("/poisons", "GET"): return listPoisons()
        case ("/poisons", "POST"): return try setPoison(request)
        case ("/poisons", "DELETE"): return removePoisons()
        case ("/names", "GET"): return listNames()
        case ("/names", "POST"): return try setName(request)
        case ("/names", "DELETE"): return removeNames()
        default:
            if let id = Self.faultID(request.path), request.method == "DELETE" {
                return try removeFaults(id)
            }
            throw .badMethod("InvalidMethod", "\(request.method) \(request.path) is not supported.")
        }
    }
}

/// The members of a control request. The caller takes each; one that remains is refused.
struct ControlFields {
    private var values: [String: JSONValue] = [:]
    private var known: [String] = []

    init(_ body: UnsafeRawBufferPointer) throws(SLSRefusal) {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: Array(body))
        } catch {
            throw .badParameter("The body is not JSON: \(error.reason) (byte \(error.position)).")
        }
        guard case .object(let members) = value else {
            throw .badParameter("The body is \(value.kind), an object is expected.")
        }
        for member in members {
            guard values.updateValue(member.value, forKey: member.name) == nil else {
                throw .badParameter("\(member.name) is given twice.")
            }
        }
    }

    /// nil when it is absent or null. Refused unless `read` gets the expected value from it.
    private mutating func take<Value>(
        _ name: String,
        _ expected: String,
        _ read: (JSONValue) -> Value?
    ) throws(SLSRefusal) -> Value? {
        known.append(name)
        guard let value = values.removeValue(forKey: name), value != .null else { return nil }
        if let taken = read(value) { return taken }
        let given = if case .number(let number) = value { "\(number)" } else { value.kind }
        throw .badParameter("\(name) is \(given), \(expected) is expected.")
    }

    mutating func text(_ name: String, bytesMax: Int = 256) throws(SLSRefusal) -> String? {
        guard let text = try take(name, "a string", { $0.text }) else { return nil }
        guard !text.isEmpty, text.utf8.count <= bytesMax else {
            throw .badParameter(
                "\(name) has \(text.utf8.count) bytes, 1 to \(bytesMax) are allowed."
            )
        }
        return text
    }

    mutating func addresses(_ name: String) throws(SLSRefusal) -> [IPAddress]? {
        let elements = try take(name, "a list of at most 16 addresses") { value in
            value.elements.flatMap { $0.count <= 16 ? $0 : nil }
        }
        guard let elements else { return nil }
        var addresses: [IPAddress] = []
        for element in elements {
            guard let address = element.text.flatMap({ IPAddress($0) }) else {
                throw .badParameter("\(name): \(element.text ?? element.kind) is not an address.")
            }
            addresses.append(address)
        }
        return addresses
    }

    mutating func flag(_ name: String) throws(SLSRefusal) -> Bool? {
        try take(name, "true or false") { if case .bool(let flag) = $0 { flag } else { nil } }
    }

    mutating func number(_ name: String, in range: ClosedRange<Double>) throws(SLSRefusal)
        -> Double?
    {
        let number = try take(name, "a number") {
            if case .number(let number) = $0 { number } else { nil }
        }
        return try within(range, number, name)
    }

    mutating func integer(_ name: String, in range: ClosedRange<Int>) throws(SLSRefusal) -> Int? {
        try within(range, try take(name, "a whole number", { $0.wholeNumber }), name)
    }

    private func within<Number>(
        _ range: ClosedRange<Number>,
        _ number: Number?,
        _ name: String
    ) throws(SLSRefusal) -> Number? {
        guard let number, !range.contains(number) else { return number }
        throw .badParameter(
            "\(name) is \(number), \(range.lowerBound) to \(range.upperBound) is allowed."
        )
    }

    /// Call this last.
    func refuseUnknown() throws(SLSRefusal) {
        guard let name = values.keys.min() else { return }
        throw .badParameter(
            "\(name) is unknown; known are: \(known.joined(separator: ", "))."
        )
    }
}
