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
        /// The whole value.
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
