import HTTP

/// A request as it reached the sandbox: nothing added, nothing re-encoded, so that a signature can be
/// checked against what was really sent.
struct ReceivedRequest: Sendable {
    struct Field: Sendable, Equatable {
        /// In lower case.
        let name: String
        /// Without the spaces around it.
        let value: String
    }

    let method: String
    /// As it came, still percent-encoded, without the query.
    let path: String
    let query: [QueryPair]
    let fields: [Field]

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

    /// The value of the field of this lower-case name.
    subscript(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// The value of this parameter of the query.
    func parameter(_ key: String) -> String? {
        query.first { $0.key == key }?.value
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
