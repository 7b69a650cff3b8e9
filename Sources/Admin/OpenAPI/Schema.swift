import JSON

/// What a value of the admin API may be, in the words of OpenAPI 3.1, which are those of JSON Schema.
enum Schema: Sendable {
    case boolean
    case integer(ClosedRange<Int64>)
    case number
    case string
    /// Such as `date-time`.
    case format(String)
    /// As ECMA-262 reads it.
    case pattern(String)
    case choice([String])
    /// What a setting is written as: a text, or what would be the same text in the configuration file.
    case setting(pattern: String? = nil)
    indirect case array(of: Schema, count: ClosedRange<Int> = 0...Int.max)
    /// Names of the user's choice.
    indirect case map(of: Schema)
    /// These members and no other.
    case object([Member])
    case either([Schema])
    indirect case nullable(Schema)
    case anything
    /// One of the document's own.
    case named(String)

    struct Member: Sendable {
        let name: String
        let schema: Schema
        var isRequired = true
    }

    static let time = Schema.format("date-time")
    static let count = Schema.integer(0...Int64.max)
    static let id = Schema.integer(1...Int64.max)
}

extension Schema.Member {
    init(_ name: String, _ schema: Schema) {
        self.init(name: name, schema: schema)
    }

    /// One that may be missing.
    static func optional(_ name: String, _ schema: Schema) -> Schema.Member {
        Schema.Member(name: name, schema: schema, isRequired: false)
    }
}

// MARK: - Writing

extension JSONWriter {
    mutating func schema(_ name: String, _ schema: Schema) {
        object(name) { $0.members(of: schema) }
    }

    mutating func members(of schema: Schema) {
        switch schema {
        case .nullable(let some): nullable(some)
        case .either(let some): choices(some)
        case .named(let name): member("$ref", "#/components/schemas/\(name)")
        case .setting(let pattern): setting(Schema.settingTypes, pattern)
        case .anything: break
        default:
            member("type", schema.type)
            keywords(of: schema)
        }
    }

    /// A type array where there is one type, else one more choice.
    private mutating func nullable(_ schema: Schema) {
        switch schema {
        case .choice, .named, .either, .nullable, .anything: choices([schema, .null])
        case .setting(let pattern): setting(Schema.settingTypes + ["null"], pattern)
        default:
            array("type") { for type in [schema.type, "null"] { $0.element(type) } }
            keywords(of: schema)
        }
    }

    private mutating func setting(_ types: [String], _ pattern: String?) {
        array("type") { json in types.forEach { json.element($0) } }
        if let pattern { member("pattern", pattern) }
    }

    private mutating func choices(_ schemas: [Schema?]) {
        array("anyOf") { json in
            for schema in schemas {
                json.object { json in
                    if let schema { json.members(of: schema) } else { json.member("type", "null") }
                }
            }
        }
    }

    private mutating func keywords(of schema: Schema) {
        switch schema {
        case .integer(let range):
            if range.lowerBound > .min { member("minimum", range.lowerBound) }
            if range.upperBound < .max { member("maximum", range.upperBound) }
        case .format(let format): member("format", format)
        case .pattern(let pattern): member("pattern", pattern)
        case .choice(let words): array("enum") { json in words.forEach { json.element($0) } }
        case .array(let element, let count):
            self.schema("items", element)
            if count.lowerBound > 0 { member("minItems", count.lowerBound) }
            if count.upperBound < .max { member("maxItems", count.upperBound) }
        case .map(let value): self.schema("additionalProperties", value)
        case .object(let all): properties(all)
        default: break
        }
    }

    private mutating func properties(_ all: [Schema.Member]) {
        object("properties") { json in for each in all { json.schema(each.name, each.schema) } }
        array("required") { json in
            for each in all where each.isRequired { json.element(each.name) }
        }
        member("additionalProperties", false)
    }
}

extension Schema {
    fileprivate static let settingTypes = ["string", "number", "boolean"]
    fileprivate static let null: Schema? = nil

    fileprivate var type: String {
        switch self {
        case .boolean: "boolean"
        case .integer: "integer"
        case .number: "number"
        case .array: "array"
        case .map, .object: "object"
        default: "string"
        }
    }
}
