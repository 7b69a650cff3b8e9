import Glibc

/// Reads text as logs, one a line, each with one field. One for each thread: it keeps its scratch
/// memory.
///
/// A line ends with a line feed, which may have a carriage return in front of it, or with the body.
/// Lines with nothing in them are no logs, and bytes that are no text are repaired with a mark.
package final class LineLogDecoder {
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private var writer: LogWriter

    package init(limits: LogLimits = LogLimits()) {
        writer = LogWriter(limits: limits)
    }

    package func decode(
        _ body: LogBody,
        field: StaticString = "message"
    ) throws(LogDecodingError) -> DecodedLogs {
        defer { writer.shrink() }
        writer.start(body.timing, body.rules)
        let text = body.bytes.bindMemory(to: UInt8.self)
        guard let first = text.baseAddress, !text.isEmpty else {
            throw LogDecodingError(position: 0, reason: "the body has no line")
        }
        var start = text.starts(with: Self.mark) ? Self.mark.count : 0
        while start < text.count {
            let rest = text.count - start
            let feed = memchr(first + start, CInt(UInt8(ascii: "\n")), rest)
            let end = feed.map { UnsafeRawPointer($0) - UnsafeRawPointer(first) } ?? text.count
            let hasReturn = end > start && text[end - 1] == UInt8(ascii: "\r")
            let line = UnsafeBufferPointer(rebasing: text[start..<(hasReturn ? end - 1 : end)])
            if !line.isEmpty { try log(line, field, at: start) }
            start = end + 1
        }
        return writer.logs
    }

    private func log(
        _ line: UnsafeBufferPointer<UInt8>,
        _ field: StaticString,
        at start: Int
    ) throws(LogDecodingError) {
        try writer.checkRoom(at: start)
        writer.startLog()
        writer.uncheckedField(name: field, value: line)
        _ = writer.endLog()
    }
}
