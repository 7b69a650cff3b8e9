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
    /// Texts under names of the operator's choice.
    case texts
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
        case .truth, .offset, .rate, .text, .choice, .texts, .condition, .conditions: nil
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
        case .texts: .map(of: .scalar(pattern: nil))
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
        case .texts: .map(of: .string)
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
