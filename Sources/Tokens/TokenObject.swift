import JSON

/// The members of a JSON object in a token. A repeated member makes it invalid, because two readers could read it
/// differently.
struct TokenObject {
    enum Value: Equatable {
        case text(String)
        case number(Double)
        case texts([String])
        /// A kind that no rule uses.
        case other
    }

    private static let depthMax = 8

    private var members: [String: Value] = [:]

    init?(_ bytes: [UInt8]) {
        var reader = JSONReader(bytes)
        guard reader.take("{") else { return nil }
        var isFirst = true
        while !reader.take("}") {
            guard isFirst || reader.take(","), let name = reader.string(), reader.take(":"),
                members[name] == nil, let value = Self.value(&reader, depth: 1)
            else { return nil }
            isFirst = false
            members[name] = value
        }
        guard reader.isAtEnd else { return nil }
    }

    subscript(_ name: String) -> Value? { members[name] }

    private static func value(_ reader: inout JSONReader, depth: Int) -> Value? {
        guard depth <= depthMax else { return nil }
        if reader.isAtString { return reader.string().map { .text($0) } }
        if reader.take("[") { return list(&reader, depth: depth) }
        if reader.take("{") { return passObject(&reader, depth: depth) ? .other : nil }
        guard let literal = reader.literal() else { return nil }
        if ["true", "false", "null"].contains(literal) { return .other }
        guard isNumber(literal), let number = Double(literal), number.isFinite else { return nil }
        return .number(number)
    }

    private static func list(_ reader: inout JSONReader, depth: Int) -> Value? {
        var texts: [String]? = []
        var isFirst = true
        while !reader.take("]") {
            guard isFirst || reader.take(","), let value = value(&reader, depth: depth + 1) else {
                return nil
            }
            isFirst = false
            if case .text(let text) = value { texts?.append(text) } else { texts = nil }
        }
        return texts.map { .texts($0) } ?? .other
    }

    private static func passObject(_ reader: inout JSONReader, depth: Int) -> Bool {
        var names: Set<String> = []
        while !reader.take("}") {
            guard names.isEmpty || reader.take(","), let name = reader.string(),
                names.insert(name).inserted, reader.take(":"),
                value(&reader, depth: depth + 1) != nil
            else { return false }
        }
        return true
    }

    /// RFC 8259 section 6.
    private static func isNumber(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        func digits() -> Int {
            let count = rest.prefix { (0x30...0x39).contains($0) }.count
            rest.removeFirst(count)
            return count
        }
        let startsWithZero = rest.first == UInt8(ascii: "0")
        let whole = digits()
        guard whole == 1 || whole > 1 && !startsWithZero else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard digits() > 0 else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") {
                rest.removeFirst()
            }
            guard digits() > 0 else { return false }
        }
        return rest.isEmpty
    }
}
