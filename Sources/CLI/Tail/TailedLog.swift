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

    /// Parses `{"destination":…,"logstore":…,"topic":…,"source":…,"tags":{…},"log":{"__time__":…,…}}`, members in any
    /// order; nil for anything else.
    init?(_ json: [UInt8]) {
        var json = JSONReader(json)
        guard json.take("{") else { return nil }
        var source = ""
        var fieldsCut = 0
        var tags: [Field] = []
        repeat {
            guard let name = json.string(), json.take(":") else { return nil }
            switch name {
            case "destination":
                guard let text = json.string() else { return nil }
                destination = text
            case "logstore":
                guard let text = json.string() else { return nil }
                logstore = text
            case "topic":
                guard let text = json.string() else { return nil }
                topic = text
            case "source":
                guard let text = json.string() else { return nil }
                source = text
            case "tags":
                guard let pairs = Self.pairs(&json) else { return nil }
                tags = pairs.map { Field(name: "__tag__:\($0.name)", value: $0.value) }
            case "log":
                guard let pairs = Self.pairs(&json) else { return nil }
                fields = pairs
            case "cut":
                guard let left = Self.fieldsCut(&json) else { return nil }
                fieldsCut = left
            default: guard json.skipValue() else { return nil }
            }
        } while json.take(",")
        guard json.take("}"), json.isAtEnd else { return nil }
        // The log's own time comes first; fields may have any name.
        if fields.first?.name == "__time__" { time = fields.removeFirst().value }
        if !source.isEmpty { fields.append(Field(name: "__source__", value: source)) }
        fields += tags
        let unshown = max(0, fields.count - Self.fieldsMax)
        fields.removeLast(unshown)
        fieldsLeft = unshown + fieldsCut
    }

    /// `{"bytes":1048576,"fields":3}`: the gateway cut a large log. Its fields say so themselves.
    private static func fieldsCut(_ json: inout JSONReader) -> Int? {
        guard json.take("{") else { return nil }
        var left = 0
        repeat {
            guard let name = json.string(), json.take(":"), let number = json.wholeNumber() else {
                return nil
            }
            if name == "fields" { left = Int(number) }
        } while json.take(",")
        return json.take("}") ? left : nil
    }

    /// The members of an object whose values are all texts.
    private static func pairs(_ json: inout JSONReader) -> [Field]? {
        guard json.take("{") else { return nil }
        var pairs: [Field] = []
        if json.take("}") { return pairs }
        repeat {
            guard let name = json.string(), json.take(":"), let value = json.string() else {
                return nil
            }
            pairs.append(Field(name: name, value: value))
        } while json.take(",")
        return json.take("}") ? pairs : nil
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
