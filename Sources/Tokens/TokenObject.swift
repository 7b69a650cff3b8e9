import JSON

/// The members of a JSON object in a token. A repeated member makes it invalid, because two readers
/// could read it differently.
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
        guard let json = try? JSONValue(parsing: bytes, depthMax: Self.depthMax),
            !Self.hasRepeatedName(json), case .object(let members) = json
        else { return nil }
        for member in members { self.members[member.name] = Value(member.value) }
    }

    subscript(_ name: String) -> Value? { members[name] }

    private static func hasRepeatedName(_ json: JSONValue) -> Bool {
        switch json {
        case .null, .bool, .number, .string: false
        case .array(let values): values.contains(where: hasRepeatedName)
        case .object(let members):
            Set(members.map(\.name)).count < members.count
                || members.contains { hasRepeatedName($0.value) }
        }
    }
}

extension TokenObject.Value {
    fileprivate init(_ json: JSONValue) {
        switch json {
        case .string(let text): self = .text(text)
        case .number(let number): self = .number(number)
        case .array(let values):
            let texts = values.compactMap { if case .string(let text) = $0 { text } else { nil } }
            self = texts.count == values.count ? .texts(texts) : .other
        case .null, .bool, .object: self = .other
        }
    }
}
