import HTTP
import System

/// A request exactly as received, so that its signature can be checked against the sent bytes.
struct ReceivedRequest {
    struct Field: Sendable, Equatable {
        /// In lower case.
        let name: String
        /// Without surrounding spaces.
        let value: String
    }

    let method: String
    /// As received: percent-encoded, without the query.
    let path: String
    let query: [QueryPair]
    let fields: [Field]
    /// Valid while the request is answered.
    var body = UnsafeRawBufferPointer(start: nil, count: 0)

    init(
        method: String,
        path: String,
        query: String?,
        fields: [(name: String, value: String)]
    ) throws(SLSRefusal) {
        self.method = method
        self.path = path
        self.query = try query.map(QueryPair.list(parsing:)) ?? []
        self.fields = fields.map {
            Field(name: $0.name.lowercased(), value: $0.value.trimmingSpaces)
        }
    }

    init(_ head: RequestHead) throws(SLSRefusal) {
        let bytes = head.bytes
        func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
        try self.init(
            method: text(0..<(bytes.firstIndex(of: UInt8(ascii: " ")) ?? 0)),
            path: head.pathText,
            query: head.queryText,
            fields: head.fields.map { (text($0.name), text($0.value)) }
        )
    }

    subscript(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    func parameter(_ key: String) -> String? {
        query.first { $0.key == key }?.value
    }

    /// The project: the host's first label, or `x-log-project` with a numeric address.
    func project() throws(SLSRefusal) -> String {
        guard let host = self["host"], !host.isEmpty else {
            throw .badRequest("MissingHost", "Host does not exist in http header.")
        }
        let project: String
        if let named = self["x-log-project"] {
            project = named
        } else if let label = Self.prefix(of: host) {
            project = label
        } else {
            throw .badRequest(
                "InvalidHost",
                "The host \(host) names no project: put it in front (project.\(host)), "
                    + "or send x-log-project."
            )
        }
        guard Name.isProject(project) else { throw Self.noSuchProject(project) }
        return project
    }

    static func noSuchProject(_ name: String) -> SLSRefusal {
        SLSRefusal.notFound("ProjectNotExist", "The Project does not exist : \(name)")
    }

    /// The first label of a name with several labels; nil for an address.
    private static func prefix(of host: String) -> String? {
        guard !host.hasPrefix("[") else { return nil }
        let name = host.prefix { $0 != ":" }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, let last = labels.last, UInt(last) == nil else { return nil }
        return String(labels[0])
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        guard let first = utf8.first, let last = utf8.last, isSpace(first) || isSpace(last) else {
            return self
        }
        let text = utf8.drop(while: isSpace)
        let end = text.lastIndex { !isSpace($0) }.map(text.index(after:)) ?? text.startIndex
        return String(Substring(text[..<end]))
    }
}

/// One decoded `key=value` of a query.
struct QueryPair: Sendable, Equatable {
    let key: String
    let value: String

    /// The pairs in order. A space comes as `%20` or `+`; a plus sign is always `%2B`.
    static func list(parsing query: String) throws(SLSRefusal) -> [QueryPair] {
        var pairs: [QueryPair] = []
        for piece in query.utf8.split(separator: UInt8(ascii: "&")) {
            let equals = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
            let value = equals == piece.endIndex ? piece[equals...] : piece[equals...].dropFirst()
            pairs.append(
                QueryPair(key: try decoded(piece[..<equals]), value: try decoded(value))
            )
        }
        return pairs
    }

    private static func decoded(_ piece: Substring.UTF8View) throws(SLSRefusal) -> String {
        guard let bytes = percentDecoded(Array(piece)[...], isForm: true) else {
            throw .badParameter("The query has a % without two hexadecimal digits.")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .badParameter("The query is not UTF-8 once decoded.")
        }
        return text
    }
}

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
