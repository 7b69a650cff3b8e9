package import Logs

/// Changes to the logs whose tag matches.
package struct Filter: Sendable, Equatable {
    /// The treatment of a log on which a step fails.
    package enum OnError: String, Sendable, CaseIterable {
        /// The log goes on as it was before the step. A redaction never keeps what it could not
        /// look at: it removes the value.
        case keep
        case drop
        case deadLetter = "dead_letter"
    }

    package static let filtersMax = 256
    package static let stepsMax = 64

    /// What messages, metrics and the tester call it: `name`, or `filters[2]`.
    package var name: String
    /// None: every tag.
    package var patterns: [TagPattern]
    package var steps: [FilterStep]
    package var onError = OnError.keep

    package init(name: String, patterns: [TagPattern] = [], steps: [FilterStep]) {
        self.name = name
        self.patterns = patterns
        self.steps = steps
    }

    var redacts: Bool { steps.contains { if case .redact = $0.action { true } else { false } } }

    var retags: Bool { steps.contains { if case .tag = $0.action { true } else { false } } }
}

/// One step of a filter, and the condition under which it applies.
package struct FilterStep: Sendable, Equatable {
    package enum Action: Sendable, Equatable {
        /// Adds fields that the log does not have.
        case add([Assignment])
        case set([Assignment])
        /// In this order. A field that already has the new name is replaced.
        case rename([Renaming])
        case remove([FieldPattern])
        /// Removes all other fields.
        case keep([FieldPattern])
        case redact(Redaction)
        case parse(Parsing)
        case truncate(Truncation)
        case sample(Sampling)
        case drop
        case tag(Template)
        case split(Splitting)
        case time(field: String, TimeFormat)
        case topic(Template)
        case source(Template)
    }

    package var action: Action
    package var condition: Condition?

    package init(_ action: Action, when condition: Condition? = nil) {
        self.action = action
        self.condition = condition
    }
}

package struct Assignment: Sendable, Equatable {
    package let field: String
    package let value: Template

    package init(field: String, value: Template) {
        self.field = field
        self.value = value
    }
}

package struct Renaming: Sendable, Equatable {
    package let old: String
    package let new: String

    package init(from old: String, to new: String) {
        self.old = old
        self.new = new
    }
}

/// Cuts values at the end of a character.
package struct Truncation: Sendable, Equatable {
    package var fields: [FieldPattern]
    package var bytes: Int

    package init(fields: [FieldPattern], bytes: Int) {
        self.fields = fields
        self.bytes = bytes
    }
}

/// Makes a log of each element of a JSON array.
package struct Splitting: Sendable, Equatable {
    package static let counts = 1...10_000

    package var field: String
    /// The field that has the element.
    package var name: String
    /// The step fails for a longer array.
    package var most: Int

    package init(field: String, as name: String? = nil, most: Int = 1000) {
        self.field = field
        self.name = name ?? field
        self.most = most
    }
}

/// Keeps a part of the logs.
package struct Sampling: Sendable, Equatable {
    /// In millionths.
    package var keep: Int
    /// Logs with the same value of this field are kept or dropped together, on every gateway. Nil,
    /// or where a log has no such field, chance decides.
    package var field: String?

    package init(keep: Int, by field: String? = nil) {
        self.keep = keep
        self.field = field
    }
}

/// Replaces what must not be stored.
package struct Redaction: Sendable, Equatable {
    package enum What: Sendable, Equatable {
        case everything
        case known(PersonalData)
        case matches(TextPattern)
    }

    package enum Replacement: Sendable, Equatable {
        /// Asterisks, one for each character; the text's length stays.
        case mask
        /// The start of an HMAC under `filters_secret`: the same text has the same hash, on every
        /// gateway.
        case hash
        case remove
        case text(String)
    }

    /// Also applies to a log that could not be read, whose text is the field `__raw_log__`.
    package var fields: [FieldPattern]
    package var what: What
    package var with: Replacement

    package init(fields: [FieldPattern], _ what: What, with: Replacement) {
        self.fields = fields
        self.what = what
        self.with = with
    }
}

package enum PersonalData: String, Sendable, CaseIterable {
    case email
    case phone
    /// Numbers of payment cards whose check digit is right.
    case card
    case ip
    /// Chinese identity numbers whose check digit is right.
    case idCard = "id_card"
    case jwt
}

/// Makes fields of a value.
package struct Parsing: Sendable, Equatable {
    package enum Format: Sendable, Equatable {
        /// The members of a JSON object. Values that are objects or arrays stay text.
        case json
        /// `key=value` pairs, values perhaps in double quotes.
        case keyValue
        /// The named groups of a pattern.
        case regex(TextPattern)
    }

    package static let fieldsMax = 64

    package let field: String
    package let format: Format
    /// In front of each new name.
    package let prefix: String
    /// True: the parsed field is removed when it was parsed.
    package let removesSource: Bool

    package init(field: String, _ format: Format, prefix: String = "", removesSource: Bool = false)
    {
        self.field = field
        self.format = format
        self.prefix = prefix
        self.removesSource = removesSource
    }
}

/// When a step applies.
package indirect enum Condition: Sendable, Equatable {
    /// False for a log without the field, except for `exists(false)`.
    case field(String, FieldTest)
    case tag([TagPattern])
    /// False for a request without the part, except for `exists(false)`.
    case request(RequestPart, FieldTest)
    case all([Condition])
    case any([Condition])
    case not(Condition)

    /// Calls `body` with each condition that has no others in it.
    func forEachLeaf(_ body: (Condition) -> Void) {
        switch self {
        case .field, .tag, .request: body(self)
        case .all(let conditions), .any(let conditions):
            for condition in conditions { condition.forEachLeaf(body) }
        case .not(let condition): condition.forEachLeaf(body)
        }
    }
}

/// What a condition may ask of the request that brought a log.
package enum RequestPart: Sendable, Hashable {
    /// The first parameter of this name.
    case query(String)
    /// In lower case; one of `filters_headers`.
    case header(String)
    /// In lower case, without the port.
    case host
    case method
    /// As the request has it, without the query.
    case path

    /// Distinct ones of all filters.
    package static let countMax = 64
    /// Names in `filters_headers`.
    package static let headersMax = 32
}

package enum FieldTest: Sendable, Equatable {
    case exists(Bool)
    case isOneOf([String])
    /// Texts with `*` for any text.
    case isLike([String])
    /// Anywhere in the value.
    case matches(TextPattern)
    /// False for a value that is no decimal number.
    case atLeast(Double)
    case atMost(Double)
}

/// Names of fields: a name, or one with `*` for any text, such as `debug_*`.
package struct FieldPattern: Sendable, Equatable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    /// True for a pattern that may match a name under which topic, source or tags are known.
    var coversStreams: Bool {
        let start = text.prefix { $0 != "*" }
        guard start.utf8.count < text.utf8.count else {
            return text == "__topic__" || text == "__source__" || text.hasPrefix("__tag__:")
        }
        return ["__topic__", "__source__", "__tag__:"].contains { name in
            name.hasPrefix(start) || start.hasPrefix(name)
        }
    }
}

/// Text with places for what a log or its request has, such as `page-{{captured}}`.
package struct Template: Sendable, Equatable {
    package enum Part: Sendable, Equatable {
        case text(String)
        case tag
        /// What the last wildcard of the filter's pattern took.
        case captured
        /// Empty where the log has no such field.
        case field(String)
        case clientIP
        case key
        case receipt
    }

    package let text: String
    package let parts: [Part]

    package init(_ text: String) throws(PatternProblem) {
        self.text = text
        parts = try Self.parts(of: text)
    }

    private static func parts(of text: String) throws(PatternProblem) -> [Part] {
        var parts: [Part] = []
        var rest = text.utf8[...]
        var literal = rest.startIndex
        func flush(to end: String.Index) {
            if literal < end { parts.append(.text(String(text[literal..<end]))) }
        }
        while let open = rest.firstIndex(of: UInt8(ascii: "{")) {
            let next = text.utf8.index(after: open)
            guard next < text.utf8.endIndex, text.utf8[next] == UInt8(ascii: "{") else {
                rest = text.utf8[next...]
                continue
            }
            let position = text.utf8.distance(from: text.utf8.startIndex, to: open)
            let start = text.utf8.index(after: next)
            guard let end = text[start...].firstRange(of: "}}") else {
                throw PatternProblem(position: position, reason: "{{ is not closed by }}")
            }
            flush(to: open)
            parts.append(try part(String(text[start..<end.lowerBound]), at: position))
            literal = end.upperBound
            rest = text.utf8[literal...]
        }
        flush(to: text.endIndex)
        return parts
    }

    private static func part(_ name: String, at position: Int) throws(PatternProblem) -> Part {
        switch name {
        case "tag": return .tag
        case "captured": return .captured
        case "client_ip": return .clientIP
        case "key": return .key
        case "receipt": return .receipt
        default:
            guard name.hasPrefix("field:"), name.utf8.count > 6 else {
                throw PatternProblem(
                    position: position,
                    reason: "{{\(name)}} is none of {{tag}}, {{captured}}, {{field:NAME}}, "
                        + "{{client_ip}}, {{key}} and {{receipt}}"
                )
            }
            return .field(String(name.dropFirst(6)))
        }
    }
}
