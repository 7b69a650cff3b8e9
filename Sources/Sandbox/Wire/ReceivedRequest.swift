import HTTP

/// A request exactly as received, so that its signature can be checked against the sent bytes.
struct ReceivedRequest: Sendable {
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

    /// The value of the field with this lower-case name.
    subscript(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// The value of this query parameter.
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
