import System

/// Reads the query of a web tracking GET as one log. There is one for each thread: it keeps its
/// scratch memory.
///
/// Names and values are read as a form's (URL Standard, application/x-www-form-urlencoded): a plus
/// is a space, a percent sign that is no escape stands for itself, and text that is not UTF-8 is
/// repaired with a mark.
///
/// `__topic__` and `__source__` are the log's surroundings and `__time__` is its time, as in web
/// tracking by POST; `APIVersion` belongs to the request.
package final class QueryLogDecoder {
    /// A field that the request has beside its query.
    package typealias Field = (name: StaticString, value: [UInt8])

    private enum Meaning {
        case version, topic, source, time, field
    }

    private static let meanings: [(name: [UInt8], meaning: Meaning)] = [
        (Array("APIVersion".utf8), .version), (Array("__topic__".utf8), .topic),
        (Array("__source__".utf8), .source), (Array("__time__".utf8), .time),
    ]

    private var writer: LogWriter
    private var name: [UInt8] = []
    private var value: [UInt8] = []

    package init(limits: LogLimits = LogLimits()) {
        writer = LogWriter(limits: limits)
    }

    /// The log has at least one field, of the query or of `fields`; those win over the query's of
    /// the same name. What is called `secret` is not for the log.
    package func decode(
        _ query: LogBody,
        adding fields: [Field] = [],
        leavingOut secret: StaticString? = nil
    ) throws(LogDecodingError) -> TrackedLogs {
        defer { writer.shrink() }
        var tracked = TrackedLogs()
        var isEmpty = fields.isEmpty
        writer.start(query.timing, query.rules)
        writer.startLog()
        var pairs = FormPairs(query.bytes)
        while let start = pairs.next(name: &name, value: &value) {
            if let secret, secret.withUTF8Buffer({ name.elementsEqual($0) }) { continue }
            switch Self.meanings.first(where: { $0.name == name })?.meaning ?? .field {
            case .version: continue
            case .topic:
                tracked.topic = try text("__topic__", writer.limits.topicBytes, at: start)
            case .source:
                tracked.source = try text("__source__", writer.limits.sourceBytes, at: start)
            case .time: value.withUnsafeBufferPointer { writer.time(text: $0) }
            case .field:
                isEmpty = false
                name.withUnsafeBufferPointer { name in
                    value.withUnsafeBufferPointer { value in
                        writer.uncheckedField(name: name, value: value)
                    }
                }
            }
        }
        guard !isEmpty else {
            throw LogDecodingError(
                position: query.bytes.count,
                reason: "the query has no field, as in ?APIVersion=0.6.0&key=value"
            )
        }
        for field in fields {
            field.value.withUnsafeBufferPointer {
                writer.uncheckedField(name: field.name, value: $0)
            }
        }
        try writer.endLog(at: 0)
        tracked.logs = writer.logs
        return tracked
    }

    private func text(
        _ name: StaticString,
        _ limit: Int,
        at position: Int
    ) throws(LogDecodingError) -> String {
        let text = String(decoding: value, as: UTF8.self)
        guard text.utf8.count <= limit else {
            throw LogDecodingError(
                position: position,
                reason: "\(name) must not exceed \(limit) bytes"
            )
        }
        return text
    }
}

/// Walks the pairs of a form (URL Standard, section 5.1).
struct FormPairs {
    private let form: UnsafeRawBufferPointer
    private var position = 0

    init(_ form: UnsafeRawBufferPointer) {
        self.form = form
    }

    /// Decodes the next pair, and returns where it starts; nil at the end. A name without an equals
    /// sign has an empty value; nothing between two ampersands is no pair.
    mutating func next(name: inout [UInt8], value: inout [UInt8]) -> Int? {
        while position < form.count {
            let start = position
            let rest = form[start...]
            let end = rest.firstIndex(of: UInt8(ascii: "&")) ?? form.count
            position = end + 1
            guard end > start else { continue }
            let pair = form[start..<end]
            let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? end
            Self.decode(pair[..<equals], into: &name)
            Self.decode(pair[equals...].dropFirst(), into: &value)
            return start
        }
        return nil
    }

    private static func decode(
        _ text: Slice<UnsafeRawBufferPointer>,
        into decoded: inout [UInt8]
    ) {
        decoded.removeAll(keepingCapacity: true)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            switch byte {
            case UInt8(ascii: "+"): decoded.append(0x20)
            case UInt8(ascii: "%"):
                if text.endIndex - index >= 2, let high = hexValue(text[index]),
                    let low = hexValue(text[index + 1])
                {
                    decoded.append(high << 4 | low)
                    index += 2
                } else {
                    decoded.append(byte)
                }
            default: decoded.append(byte)
            }
        }
    }
}
