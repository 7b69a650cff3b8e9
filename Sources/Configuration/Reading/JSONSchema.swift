package import JSON

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
    case described(String, JSONSchema)
    /// One of the definitions of the whole schema, by its name.
    case definition(String)
    case defining([(name: String, schema: JSONSchema)], JSONSchema)

    package var orNull: JSONSchema { or(.null) }

    func or(_ other: JSONSchema) -> JSONSchema {
        if case .either(let schemas) = self {
            .either(schemas + [other])
        } else {
            .either([self, other])
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
        case .described(let help, let schema):
            schema.write(to: &json)
            json.member("description", help)
        case .definition(let name): json.member("$ref", "#/$defs/\(name)")
        case .defining(let definitions, let schema):
            schema.write(to: &json)
            json.object("$defs") { json in
                for each in definitions { json.object(each.name) { each.schema.write(to: &$0) } }
            }
        }
    }
}
