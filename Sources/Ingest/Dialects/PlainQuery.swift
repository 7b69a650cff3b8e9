import HTTP
import Logs
import System

/// The query of `/logs/{tag}`: `time_field`, `topic`, `source`, `format` and `status`.
///
/// It is read like a form: a plus is a space. Other names are ignored: libraries and proxies add
/// their own, as jQuery does `_=1732330000000`, and `key` is the device's.
struct PlainQuery {
    enum Format: String {
        case json, lines
    }

    private static let limits = LogLimits()
    private static let names: Set = ["time_field", "topic", "source", "format", "status"]

    /// The field with a log's time, besides `__time__`.
    private(set) var timeField: String?
    private(set) var topic: String?
    private(set) var source: String?
    private(set) var format = Format.json
    /// The status of the answer when the logs are accepted.
    private(set) var status: Int?

    init(_ head: RequestHead) throws(Refusal) {
        guard let query = head.query, !query.isEmpty else { return }
        var seen: Set<String> = []
        for pair in head.bytes[query].split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            guard let name = Self.text(pair[..<end]), Self.names.contains(name) else { continue }
            guard let value = Self.text(pair[end...].dropFirst()) else {
                throw Self.wrong(
                    "\(name) has a % that is no escape, or text that is not UTF-8"
                )
            }
            guard seen.insert(name).inserted else {
                throw Self.wrong("\(name) is there twice")
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
        case "status":
            guard value == "200" || value == "201" else {
                throw Self.wrong("status is neither 200 nor 201")
            }
            status = Int(value)
        default:
            guard let format = Format(rawValue: value) else {
                throw Self.wrong("format is neither json nor lines")
            }
            self.format = format
        }
    }

    /// An empty value counts as missing.
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

    /// nil when the text cannot be decoded.
    private static func text(_ part: ArraySlice<UInt8>) -> String? {
        percentDecodedText(part.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }[...])
    }

    private static func wrong(_ reason: String) -> Refusal {
        Refusal(400, "ParameterInvalid", "the query: \(reason)")
    }
}
