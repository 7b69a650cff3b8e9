import HTTP
import Logs

/// What the query of `/logs/{tag}` says: `time_field`, `topic`, `source`, `format`, and `key`, which is the device's.
///
/// Read as a form's is: a plus is a space.
struct PlainQuery {
    enum Format: String {
        case json, lines
    }

    private static let limits = LogLimits()

    /// The field of each log that gives its time, besides `__time__`.
    private(set) var timeField: String?
    private(set) var topic: String?
    private(set) var source: String?
    private(set) var format = Format.json

    init(_ head: RequestHead) throws(Refusal) {
        guard let query = head.query, !query.isEmpty else { return }
        var seen: Set<String> = []
        for pair in head.bytes[query].split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let name = try Self.text(pair[..<end])
            let value = try Self.text(pair[end...].dropFirst())
            guard seen.insert(name).inserted else {
                throw Self.wrong("\(clipped(name)) is there twice")
            }
            try take(name, value)
        }
        guard format == .json || timeField == nil else {
            throw Self.wrong(
                "time_field is for JSON; with format=lines a log's time is its arrival"
            )
        }
    }

    private mutating func take(_ name: String, _ value: String) throws(Refusal) {
        switch name {
        case "time_field":
            guard 1...FieldName.bytesMax ~= value.utf8.count else {
                throw Self.wrong(
                    "time_field is the name of a field, 1 to \(FieldName.bytesMax) bytes"
                )
            }
            timeField = value
        case "topic": topic = try Self.label(name, value, Self.limits.topicBytes)
        case "source": source = try Self.label(name, value, Self.limits.sourceBytes)
        case "format":
            guard let format = Format(rawValue: value) else {
                throw Self.wrong("format \(clipped(value)) is neither json nor lines")
            }
            self.format = format
        case "\(RequestHead.keyParameter)": break
        default:
            throw Self.wrong(
                "\(clipped(name)) is none of time_field, topic, source, format and key; logs go into the body"
            )
        }
    }

    /// Nothing is as good as not given.
    private static func label(
        _ name: String,
        _ value: String,
        _ bytesMax: Int
    ) throws(Refusal) -> String? {
        guard value.utf8.count <= bytesMax else {
            throw wrong("\(name) must not exceed \(bytesMax) bytes")
        }
        return value.isEmpty ? nil : value
    }

    private static func text(_ part: ArraySlice<UInt8>) throws(Refusal) -> String {
        let spaced = part.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
        guard let text = percentDecodedText(spaced[...]) else {
            throw wrong("it has a % that is no escape, or text that is not UTF-8")
        }
        return text
    }

    private static func wrong(_ reason: String) -> Refusal {
        Refusal(400, "ParameterInvalid", "the query: \(reason)")
    }
}
