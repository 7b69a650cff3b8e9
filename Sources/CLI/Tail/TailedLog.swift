import JSON
import SLS
import System

/// A log of the tail, parsed for display.
struct TailedLog: Equatable {
    var destination = ""
    var logstore = ""
    var topic = ""
    /// As written: seconds since 1970, with an optional fraction.
    var time = ""
    /// The log's fields, followed by source and tags under their SLS names.
    var fields: [Field] = []
    /// The number of fields beyond the limit.
    var fieldsLeft = 0

    struct Field: Equatable {
        var name: String
        var value: String
    }

    static let fieldsMax = 64
    /// Something other than the gateway may send any number.
    private static let cutMax = 1_000_000

    /// Parses
    /// `{"destination":…,"logstore":…,"topic":…,"source":…,"tags":{…},"log":{"__time__":…,…}}`,
    /// members in any order; nil for anything else. `"cut":{"fields":3}` counts fields that the
    /// gateway left out of a large log.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes), json != .object([]),
            let destination = Self.text(json["destination"]),
            let logstore = Self.text(json["logstore"]), let topic = Self.text(json["topic"]),
            let source = Self.text(json["source"]), let tags = Self.fields(json["tags"]),
            var fields = Self.fields(json["log"]), case .object = json
        else { return nil }
        (self.destination, self.logstore, self.topic) = (destination, logstore, topic)
        // The log's own time comes first; fields may have any name.
        if fields.first?.name == "__time__" { time = fields.removeFirst().value }
        if !source.isEmpty { fields.append(Field(name: "__source__", value: source)) }
        fields += tags.map { Field(name: "__tag__:\($0.name)", value: $0.value) }
        fieldsLeft = max(0, fields.count - Self.fieldsMax)
        self.fields = fields.dropLast(fieldsLeft)
        let cut = json["cut"]?["fields"]?.wholeNumber ?? 0
        fieldsLeft += min(max(cut, 0), Self.cutMax)
    }

    private static func text(_ value: JSONValue?) -> String? { value == nil ? "" : value?.text }

    /// The members of an object whose values are all texts.
    private static func fields(_ value: JSONValue?) -> [Field]? {
        guard let value else { return [] }
        guard case .object(let members) = value else { return nil }
        let fields = members.compactMap { member in
            member.value.text.map { Field(name: member.name, value: $0) }
        }
        return fields.count == members.count ? fields : nil
    }

    /// "2026-11-21T17:20:00.000Z  app/app-log  night  level=error message="disk full""
    var line: String {
        let place = "\(TerminalText.shown(destination))/\(TerminalText.shown(logstore))"
        var columns = [shownTime, place]
        if !topic.isEmpty { columns.append(TerminalText.shown(topic)) }
        var pairs = fields.map { "\(TerminalText.shown($0.name))=\(TerminalText.shown($0.value))" }
        if fieldsLeft > 0 { pairs.append("… \(counted(fieldsLeft, "more field"))") }
        return (columns + [pairs.joined(separator: " ")]).joined(separator: "  ")
    }

    private var shownTime: String {
        let parts = time.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let seconds = UInt32(first),
            let nanoseconds = Self.nanoseconds(parts.dropFirst().first ?? "")
        else { return TerminalText.shown(time) }
        return WallTime(nanoseconds: Int64(seconds) * 1_000_000_000 + nanoseconds).rfc3339
    }

    private static func nanoseconds(_ fraction: Substring) -> Int64? {
        guard fraction.utf8.count <= 9, fraction.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        return Int64(fraction + String(repeating: "0", count: 9 - fraction.utf8.count))
    }
}
