package import JSON
import System

/// What the text of a setting looks like: a name for people, and its JSON schema.
package indirect enum SettingShape: Sendable {
    case truth
    case count(ClosedRange<Int>)
    case size(ClosedRange<Int>)
    case duration(ClosedRange<Duration>)
    case offset
    case percent(Int)
    /// `units` are those of time: "s" or "smh".
    case rate(ofBytes: Bool, units: String)
    case text(pattern: String? = nil)
    case choice([String])
    /// A list, or one text with commas.
    case list(of: SettingShape, count: ClosedRange<Int>)
    /// A list, or one of a few words.
    case listOrWord(of: SettingShape, count: ClosedRange<Int>, [String])
    /// A list, or lists under names of the operator's choice.
    case listOrLists(of: SettingShape, count: ClosedRange<Int>)
    /// Values under names of the operator's choice.
    case named(SettingShape)
    /// The condition of a filter's step, which may contain other conditions.
    case condition
    case conditions

    /// "1MiB to 1TiB"; nil where the kind says it all.
    package var bounds: String? {
        switch self {
        case .count(let range): "\(range.lowerBound) to \(range.upperBound)"
        case .size(let range): "\(sizeText(range.lowerBound)) to \(sizeText(range.upperBound))"
        case .duration(let range):
            "\(durationText(range.lowerBound)) to \(durationText(range.upperBound))"
        case .percent(let most): "0% to \(most)%"
        case .list(_, let count), .listOrLists(_, let count), .listOrWord(_, let count, _):
            "up to \(count.upperBound)"
        case .truth, .offset, .rate, .text, .choice, .named, .condition, .conditions: nil
        }
    }

    /// What the configuration file or a PATCH may contain.
    package var written: JSONSchema {
        switch self {
        case .truth: .either([.boolean, .choice(["true", "false"])])
        case .count(let range): .either([.integer(range), .pattern("^[+-]?[0-9]+$")])
        case .size(let range):
            .either([.integer(range), .pattern("^\(Self.sizePattern)$")])
        case .duration(let range):
            range.contains(.zero)
                ? .either([.pattern("^(0|\(Self.timePattern))$"), .integer(0...0)])
                : .pattern("^\(Self.timePattern)$")
        case .offset:
            .either([.pattern("^[+-]?(0|\(Self.timePattern))$"), .integer(0...0)])
        case .percent: .either([.pattern("^([0-9]+%|0)$"), .integer(0...0)])
        case .rate(let ofBytes, let units):
            .pattern("^\(ofBytes ? Self.sizePattern : "[0-9]+")/[\(units)]$")
        case .text(let pattern): .scalar(pattern: pattern)
        // YAML has numbers for words such as 1.2.
        case .choice(let words):
            words.contains { Double($0) != nil } ? .scalar(pattern: nil) : .choice(words)
        case .list(let item, let count):
            .either([.scalar(pattern: nil), .array(of: item.written, count: count)])
        case .listOrLists(let item, let count):
            Self.oneOrMany(Self.list(of: item, count: count).written)
        case .listOrWord(let item, let count, let words):
            .either([.choice(words), .array(of: item.written, count: count)])
        case .named(let value): .map(of: value.written)
        case .condition: .definition("condition")
        case .conditions: .array(of: .definition("condition"), count: 1...64)
        }
    }

    /// How the admin JSON shows the value.
    package var shown: JSONSchema {
        switch self {
        case .truth: .boolean
        case .count, .size: .integer(0...Int.max)
        case .duration, .offset, .percent, .rate, .text: .string
        case .choice(let words): .choice(words)
        case .list(let item, let count): .array(of: item.shown, count: count)
        case .listOrLists(let item, let count):
            Self.oneOrMany(Self.list(of: item, count: count).shown)
        case .listOrWord(let item, _, let words):
            .either([.choice(words), .array(of: item.shown, count: 0...Int.max)])
        case .named(let value): .map(of: value.shown)
        case .condition, .conditions: written
        }
    }

    private static func oneOrMany(_ list: JSONSchema) -> JSONSchema {
        .either([list, .map(of: list)])
    }

    private static let sizePattern = "[0-9]+([KMGT]i?B|B)?"
    private static let timePattern = "([0-9]+(ms|s|m|h|d))+"
}

/// A setting's value, apart from its type.
package indirect enum SettingValue {
    case text(String)
    case number(Int)
    /// JSON has the bytes.
    case size(Int)
    case truth(Bool)
    case list([SettingValue])
    case group([(key: String, value: SettingValue)])
    case absent
    /// A secret, or a value that is shown nowhere.
    case hidden

    /// An inner group, which shows only what is there.
    static func present(_ members: [(key: String, value: SettingValue)]) -> SettingValue {
        .group(members.filter { if case .absent = $0.value { false } else { true } })
    }

    /// As the file may have it; nil for groups, lists, and what is absent.
    var written: String? {
        switch self {
        case .text(let text): text
        case .number(let number): "\(number)"
        case .size(let bytes): sizeText(bytes)
        case .truth(let truth): "\(truth)"
        case .list, .group, .absent, .hidden: nil
        }
    }
}

extension JSONWriter {
    package mutating func member(_ name: String, _ value: SettingValue) {
        switch value {
        case .text(let text): member(name, text)
        case .number(let number), .size(let number): member(name, number)
        case .truth(let truth): member(name, truth)
        case .list(let items):
            array(name) { json in for item in items { json.element(item.written ?? "") } }
        case .group(let members):
            object(name) { json in for each in members { json.member(each.key, each.value) } }
        case .absent, .hidden: member(name, nil as String?)
        }
    }
}

/// The part of JSON Schema (2020-12) that settings need.
package indirect enum JSONSchema {
    package typealias Member = (name: String, schema: JSONSchema, isRequired: Bool)

    case boolean
    case string
    case null
    case integer(ClosedRange<Int>)
    /// A text of this form, as ECMA-262 reads it.
    case pattern(String)
    case choice([String])
    /// A text, or a number or boolean that would be the same text in YAML.
    case scalar(pattern: String?)
    case array(of: JSONSchema, count: ClosedRange<Int>)
    /// Names of the operator's choice.
    case map(of: JSONSchema)
    /// These members and no other.
    case object([Member])
    case either([JSONSchema])
    case described(String, default: SettingValue? = nil, JSONSchema)
    /// One of the definitions of the whole schema, by its name.
    case definition(String)
    case document(String, definitions: [(name: String, schema: JSONSchema)], JSONSchema)

    package var orNull: JSONSchema { or(.null) }

    func or(_ other: JSONSchema) -> JSONSchema {
        switch (self, other) {
        // It takes texts of all forms.
        case (.scalar(pattern: nil), .pattern): self
        case (.either(let schemas), _): .either(schemas + [other])
        default: .either([self, other])
        }
    }

    package var text: String {
        var json = JSONWriter()
        json.object { write(to: &$0) }
        return json.text
    }

    package func write(to json: inout JSONWriter) {
        switch self {
        case .boolean: json.member("type", "boolean")
        case .string: json.member("type", "string")
        case .null: json.member("type", "null")
        case .integer(let range):
            json.member("type", "integer")
            json.member("minimum", range.lowerBound)
            if range.upperBound < .max { json.member("maximum", range.upperBound) }
        case .pattern(let pattern):
            json.member("type", "string")
            json.member("pattern", pattern)
        case .choice(let words):
            json.member("type", "string")
            json.array("enum") { json in words.forEach { json.element($0) } }
        case .scalar(let pattern):
            json.array("type") { json in
                for type in ["string", "number", "boolean"] { json.element(type) }
            }
            if let pattern { json.member("pattern", pattern) }
        case .array(let item, let count):
            json.member("type", "array")
            json.object("items") { item.write(to: &$0) }
            if count.lowerBound > 0 { json.member("minItems", count.lowerBound) }
            if count.upperBound < .max { json.member("maxItems", count.upperBound) }
        case .map(let value):
            json.member("type", "object")
            json.object("additionalProperties") { value.write(to: &$0) }
        case .object(let members):
            json.member("type", "object")
            json.object("properties") { json in
                for member in members { json.object(member.name) { member.schema.write(to: &$0) } }
            }
            let required = members.filter(\.isRequired)
            if !required.isEmpty {
                json.array("required") { json in for each in required { json.element(each.name) } }
            }
            json.member("additionalProperties", false)
        case .either(let schemas):
            json.array("anyOf") { json in
                for schema in schemas { json.object { schema.write(to: &$0) } }
            }
        case .described(let help, let standard, let schema):
            schema.write(to: &json)
            json.member("description", help)
            switch standard {
            case .number, .truth: json.member("default", standard ?? .absent)
            default: if let text = standard?.written { json.member("default", text) }
            }
        case .definition(let name): json.member("$ref", "#/$defs/\(name)")
        case .document(let title, let definitions, let schema):
            json.member("$schema", "https://json-schema.org/draft/2020-12/schema")
            json.member("title", title)
            schema.write(to: &json)
            json.object("$defs") { json in
                for each in definitions { json.object(each.name) { each.schema.write(to: &$0) } }
            }
        }
    }
}
