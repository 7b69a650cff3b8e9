import Logs
import Routing

/// The group of a step's action, as in `redact: { … }`.
protocol StepGroup: SettingGroup {
    var action: FilterStep.Action { get }
}

extension StepGroup {
    static var refusesEmpty: Bool { true }
}

// MARK: - Redact

extension Redaction: StepGroup {
    init() { self.init(fields: [], .everything, with: .mask) }

    static var settings: [Setting<Redaction>] {
        Setting.fields(\.fields, orElse: "name fields, as in [msg, email]") {
            "fields whose values must not be stored as they are: `[msg, \"*_email\", \"__tag__:user\"]`"
        }
        Setting("pattern", \.what, .redacted) {
            "what is replaced: `email`, `phone`, `card` (payment cards), `ip`, `id_card` (Chinese "
            "identity numbers), `jwt`, or a regular expression of RE2"
        }
        .default("the whole value")
        Setting("with", \.with, .replacement) {
            "`mask` (asterisks), `hash` (the same text has the same hash; needs `filters_secret`), "
            "`remove`, or a text that stands in its place"
        }
    }

    var action: FilterStep.Action { .redact(self) }

    func check(_ section: borrowing Section) {
        guard with == .hash, !section.report.filtersHaveSecret else { return }
        section.problem("with") {
            "hash needs a secret key: set filters_secret or \(RoutingRules.secretVariable), for "
            "example from: openssl rand -hex 32"
        }
    }
}

extension Redaction.What {
    fileprivate var shown: SettingValue {
        switch self {
        case .everything: .absent
        case .known(let known): .text(known.rawValue)
        case .matches(let pattern): .text(pattern.text)
        }
    }
}

extension Redaction.Replacement {
    fileprivate var written: String {
        if case .text(let text) = self { text } else { "\(self)" }
    }
}

extension Kind<Redaction.What> {
    fileprivate static var redacted: Kind {
        let names = PersonalData.allCases.map(\.rawValue)
        return Kind(
            wants: "one of \(names.joined(separator: ", ")), or a regular expression",
            show: \.shown,
            instructions: { if case .matches(let pattern) = $0 { pattern.instructions } else { 0 } }
        ) { text throws(Mismatch) in
            if let known = PersonalData(rawValue: text) { return .known(known) }
            // A misspelt word would be a valid expression that never matches, so nothing would be
            // replaced.
            let isWord = text.utf8.allSatisfy {
                $0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7a || $0 == 0x5f || $0 == 0x2d
            }
            if isWord, let meant = nearMiss(text, among: names) {
                throw Mismatch(
                    "\(quoted(text)) is not one of \(names.joined(separator: ", ")); did you mean "
                        + "\(meant)? The text itself is (?:\(text))"
                )
            }
            return .matches(try Kind<TextPattern>.textPattern.parse(text))
        }
    }
}

extension Kind<Redaction.Replacement> {
    fileprivate static var replacement: Kind {
        Kind(wants: "mask, hash, remove or a text", show: { .text($0.written) }) {
            text throws(Mismatch) in
            switch text {
            case "mask": return .mask
            case "hash": return .hash
            case "remove": return .remove
            default: return .text(try Kind<String>.text(upTo: 1024).parse(text))
            }
        }
    }
}

// MARK: - Parse

/// `parse` of a step.
struct ParsingEntry: StepGroup {
    private enum Format { case json, keyValue, regex }

    private var field = ""
    private var format: Format?
    private var pattern: TextPattern?
    private var prefix = ""
    private var removesSource = false

    static var settings: [Setting<ParsingEntry>] {
        Setting("field", \.field, .fieldName) { "the field whose value becomes fields, 64 at most" }
            .orElse("name the field that is parsed")
        Setting(
            "as",
            \.format,
            Kind<Format?>.choice(["json": .json, "kv": .keyValue, "regex": .regex])
        ) {
            "`json` (the members of an object), `kv` (`key=value` pairs) or `regex` (the named "
            "groups of `pattern`)"
        }
        .orElse("give json, kv or regex")
        Setting("pattern", \.pattern, .textPattern) {
            "with `as: regex`: `\"^(?P<method>[A-Z]+) (?P<path>[^ ]+)\"`"
        }
        Setting("prefix", \.prefix, .text(upTo: 64)) { "stands in front of each new name" }
            .default("none")
        Setting("remove", \.removesSource, .boolean) { "`true`: the parsed field goes" }
    }

    var action: FilterStep.Action {
        let read: Parsing.Format =
            switch format {
            case .keyValue: .keyValue
            case .regex: pattern.map { .regex($0) } ?? .json
            case .json, nil: .json
            }
        return .parse(Parsing(field: field, read, prefix: prefix, removesSource: removesSource))
    }

    func check(_ section: borrowing Section) {
        if format == .regex {
            section.require(
                "pattern",
                "its named groups become fields, as in \"(?P<status>[0-9]+)\""
            )
        } else if let format, section.has("pattern") {
            section.problem(
                "pattern",
                "is of no use for \(format == .json ? "json" : "kv"); leave it out, or write as: regex"
            )
        }
        guard format == .regex, let pattern else { return }
        if pattern.groups.isEmpty {
            section.problem("pattern") {
                "\(quoted(pattern.text)) names no group, so it makes no field; name one, as in "
                "(?P<status>[0-9]+)"
            }
        } else if pattern.groups.count > Parsing.fieldsMax {
            section.problem("pattern") {
                "names \(pattern.groups.count) groups; name at most \(Parsing.fieldsMax)"
            }
        }
    }
}

// MARK: - Truncate, sample, split, time

extension Truncation: StepGroup {
    init() { self.init(fields: [], bytes: 0) }

    static var settings: [Setting<Truncation>] {
        Setting.fields(\.fields, orElse: "name fields, as in [msg]") {
            "fields whose values are cut at the end of a character"
        }
        Setting("bytes", \.bytes, .size(1...1 << 20)) { "what is left at most: `4KiB`" }
            .orElse("give a size such as 4KiB")
    }

    var action: FilterStep.Action { .truncate(self) }
}

extension Sampling: StepGroup {
    init() { self.init(keep: 0) }

    static var settings: [Setting<Sampling>] {
        Setting("keep", \.keep, .millionths) {
            "the part of the logs that stays: `10%` or `0.5%`; the others are dropped and counted"
        }
        .orElse("give a percentage such as 10%")
        Setting("by", \.field, .fieldName) {
            "logs with the same value of this field stay or go together, on every gateway"
        }
        .default("none: chance decides")
    }

    var action: FilterStep.Action { .sample(self) }
}

extension Splitting: StepGroup {
    init() { self.init(field: "") }

    static var settings: [Setting<Splitting>] {
        Setting("field", \.field, .fieldName) {
            "the field with a JSON array: each element becomes a log with the other fields; an "
            "empty array leaves the log as it is"
        }
        .orElse("name the field that has the array")
        Setting("as", \.name, .newFieldName) {
            "the field that has the element; objects and arrays are text, for `parse`"
        }
        .default("the same field")
        Setting("most", \.most, .count(Splitting.counts)) {
            "the step fails for an array with more elements, and where the pieces would take more "
            "bytes than the logs of the request and 1 MiB"
        }
    }

    var action: FilterStep.Action {
        .split(Splitting(field: field, as: name.isEmpty ? nil : name, most: most))
    }
}

/// `time` of a step.
struct TimeEntry: StepGroup {
    private var field = ""
    private var format = TimeFormat.iso

    static var settings: [Setting<TimeEntry>] {
        Setting("field", \.field, .fieldName) {
            "the field with the log's time; it stays. The step fails for a value that is no such time"
        }
        .orElse("name the field that has the time")
        Setting("format", \.format, .timeFormat) {
            "`iso`, a number since 1970 in `s`, `ms`, `us` or `ns`, or a text such as "
            #"`"%d/%b/%Y:%H:%M:%S %z"`: `%Y %m %d %e %b %a %H %I %p %M %S %f %z %s %F %T %%`, "#
            "English names, UTC without `%z`"
        }
        .orElse("give iso, s, ms, us, ns or a text such as %Y-%m-%d %H:%M:%S")
    }

    var action: FilterStep.Action { .time(field: field, format) }
}

extension Kind<TimeFormat> {
    fileprivate static var timeFormat: Kind {
        Kind(
            wants: "iso, s, ms, us, ns or a text such as %d/%b/%Y:%H:%M:%S %z",
            or: "is not a format of times; write iso, s, ms, us, ns, or a text with the year, "
                + "month and day, each once, as in %d/%b/%Y:%H:%M:%S %z",
            parsedBy: TimeFormat.init
        )
    }
}

extension Setting where Group: SettingGroup {
    /// The fields that a step is about.
    fileprivate static func fields(
        _ path: WritableKeyPath<Group, [FieldPattern]>,
        orElse remedy: String,
        help: () -> String
    ) -> Setting {
        let counts = 1...FilterStep.fieldsMax
        return Setting("fields", path, listOf: .fieldPattern, counts, help: help).orElse(remedy)
    }
}
