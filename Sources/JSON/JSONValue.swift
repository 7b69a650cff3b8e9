import System

/// Why a text is not JSON.
package struct JSONProblem: Error, Equatable {
    package let position: Int
    package let reason: String
}

/// A small JSON document as a tree; objects keep the order of their members, repeated ones
/// included.
package indirect enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    package struct Member: Equatable, Sendable {
        package let name: String
        package let value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// Parses the text strictly (RFC 8259).
    package init(parsing bytes: [UInt8], depthMax: Int = 64) throws(JSONProblem) {
        var reader = JSONReader(bytes)
        self = try reader.value(depthMax: depthMax)
        guard reader.isAtEnd else { throw reader.problem("something follows the value") }
    }

    /// The first member of that name of an object.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    package var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    package var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// A number without a fraction.
    package var wholeNumber: Int? {
        if case .number(let number) = self { Int(exactly: number) } else { nil }
    }

    /// The kind's name in an error message.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONReader {
    fileprivate mutating func value(depthMax: Int) throws(JSONProblem) -> JSONValue {
        guard depthMax >= 0 else { throw problem("too many levels of arrays and objects") }
        if take("{") { return try object(depthMax: depthMax) }
        if take("[") { return try array(depthMax: depthMax) }
        if isAtString { return .string(try text()) }
        guard !isAtEnd else { throw problem("the text ends where a value is expected") }
        switch literal() {
        case nil: throw problem("a value is expected")
        case "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        case let number?:
            guard let number = Double(number), number.isFinite else {
                throw problem("the number is too large")
            }
            return .number(number)
        }
    }

    private mutating func object(depthMax: Int) throws(JSONProblem) -> JSONValue {
        var members: [JSONValue.Member] = []
        if take("}") { return .object([]) }
        repeat {
            guard isAtString else { throw problem("a member's name is expected") }
            let name = try text()
            guard take(":") else { throw problem("a colon is expected") }
            members.append(.init(name: name, value: try value(depthMax: depthMax - 1)))
        } while take(",")
        guard take("}") else { throw problem("a comma or } is expected") }
        return .object(members)
    }

    private mutating func array(depthMax: Int) throws(JSONProblem) -> JSONValue {
        var values: [JSONValue] = []
        if take("]") { return .array([]) }
        repeat { values.append(try value(depthMax: depthMax - 1)) } while take(",")
        guard take("]") else { throw problem("a comma or ] is expected") }
        return .array(values)
    }

    private mutating func text() throws(JSONProblem) -> String {
        guard let text = string() else {
            throw problem("the string does not end, has a wrong escape, or is not UTF-8")
        }
        return text
    }
}

extension JSONValue {
    /// The value as JSON, in one line.
    package var written: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let number): Int(exactly: number).map { "\($0)" } ?? "\(number)"
        case .string(let text): jsonQuoted(text)
        case .array(let elements): "[\(elements.map(\.written).joined(separator: ","))]"
        case .object(let members):
            "{"
                + members.map { "\(jsonQuoted($0.name)):\($0.value.written)" }
                .joined(separator: ",") + "}"
        }
    }
}
