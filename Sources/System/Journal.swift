import Glibc
import Synchronization

/// The gateway's own log: one event a line, on standard error.
///
/// It writes JSON for machines and aligned text for people. It never carries secrets or customers'
/// logs: callers pass names, numbers and reasons.
package struct Journal: Sendable {
    package enum Level: Int, Comparable, Sendable, CaseIterable {
        case debug, info, warning, error

        package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

        package var name: String { "\(self)" }
    }

    package enum Format: Sendable { case json, text }

    package let format: Format
    private let threshold: Threshold
    private let write: @Sendable ([UInt8]) -> Void
    private let writer: JournalWriter?

    /// Writes to standard error on its own thread. The default format is text on a terminal and
    /// JSON elsewhere. Call `flush` before the process ends.
    package init(level: Level = .info, format: Format? = nil) {
        self.init(level: level, format: format ?? (isatty(2) == 1 ? .text : .json), descriptor: 2)
    }

    package init(level: Level, format: Format, descriptor: CInt, bytesMax: Int = 1 << 20) {
        do throws(SystemError) {
            let writer = try JournalWriter(descriptor: descriptor, bytesMax: bytesMax) { count in
                Line(level: .warning, event: "journal lines were dropped", fields: ["lines": count])
                    .bytes(as: format)
            }
            self.init(level: level, format: format, writer: writer) { writer.append($0) }
        } catch {
            // Without threads the program soon stops, but it can still report why.
            self.init(level: level, format: format) { line in
                line.withUnsafeBytes { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
            }
        }
    }

    /// Each call writes its line before it returns.
    package init(level: Level, format: Format, write: @escaping @Sendable ([UInt8]) -> Void) {
        self.init(level: level, format: format, writer: nil, write: write)
    }

    private init(
        level: Level,
        format: Format,
        writer: JournalWriter?,
        write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        threshold = Threshold(level)
        self.format = format
        self.writer = writer
        self.write = write
    }

    /// Waits until all lines so far are written, but not for ever: the reader may be stuck.
    package func flush(within time: Duration = .seconds(1)) {
        writer?.flush(within: time)
    }

    /// The least level that is written; all copies of a journal share it, and it can change.
    package var level: Level {
        get { threshold.level }
        nonmutating set { threshold.level = newValue }
    }

    /// Discards every line; for tests and tools.
    package static let silent = Journal(level: .error, format: .json) { _ in }

    package func debug(_ event: String, _ fields: KeyValuePairs<String, any Sendable> = [:]) {
        emit(.debug, event, fields)
    }

    package func info(_ event: String, _ fields: KeyValuePairs<String, any Sendable> = [:]) {
        emit(.info, event, fields)
    }

    package func warning(_ event: String, _ fields: KeyValuePairs<String, any Sendable> = [:]) {
        emit(.warning, event, fields)
    }

    package func error(_ event: String, _ fields: KeyValuePairs<String, any Sendable> = [:]) {
        emit(.error, event, fields)
    }

    private func emit(
        _ level: Level,
        _ event: String,
        _ fields: KeyValuePairs<String, any Sendable>
    ) {
        guard level >= self.level else { return }
        write(Line(level: level, event: event, fields: fields).bytes(as: format))
    }
}

/// An event of the present moment.
private struct Line {
    let level: Journal.Level
    let event: String
    let fields: KeyValuePairs<String, any Sendable>
    let time = WallTime.now

    func bytes(as format: Journal.Format) -> [UInt8] {
        var line =
            switch format {
            case .json: json
            case .text: text
            }
        line += "\n"
        return Array(line.utf8)
    }

    private var json: String {
        var line = "{\"time\":\"\(time.rfc3339)\",\"level\":\"\(level.name)\",\"event\":"
        line += jsonQuoted(event)
        for (key, value) in fields {
            line += "," + jsonQuoted(key) + ":"
            switch value {
            case let number as any FixedWidthInteger: line += "\(number)"
            case let flag as Bool: line += flag ? "true" : "false"
            default: line += jsonQuoted("\(value)")
            }
        }
        return line + "}"
    }

    private var text: String {
        let name = level.name + String(repeating: " ", count: 7 - level.name.utf8.count)
        let isPlain = !event.unicodeScalars.contains(where: \.isUnprintable)
        var line = "\(time.rfc3339) \(name) \(isPlain ? event : jsonQuoted(event))"
        for (key, value) in fields {
            let text = "\(value)"
            let plain =
                !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 < 0x7f }
            line += " \(key)=\(plain ? text : jsonQuoted(text))"
        }
        return TerminalText.lines(line)
    }
}

private final class Threshold: Sendable {
    private let number: Atomic<Int>

    init(_ level: Journal.Level) {
        number = Atomic(level.rawValue)
    }

    var level: Journal.Level {
        get { Journal.Level(rawValue: number.load(ordering: .relaxed)) ?? .info }
        set { number.store(newValue.rawValue, ordering: .relaxed) }
    }
}

/// The text as a JSON string literal, with its quotes.
package func jsonQuoted(_ text: String) -> String {
    var text = text
    return text.withUTF8 { text in
        var quoted: [UInt8] = []
        quoted.reserveCapacity(text.count + 2)
        appendJSONQuoted(UnsafeRawBufferPointer(text), to: &quoted)
        return String(decoding: quoted, as: UTF8.self)
    }
}

/// Appends UTF-8 as a JSON string literal, with its quotes.
package func appendJSONQuoted(_ text: UnsafeRawBufferPointer, to quoted: inout [UInt8]) {
    quoted.append(UInt8(ascii: "\""))
    appendJSONEscaped(text, to: &quoted)
    quoted.append(UInt8(ascii: "\""))
}

/// The same without quotes, for a part of a text that is cut between characters.
package func appendJSONEscaped(_ text: UnsafeRawBufferPointer, to quoted: inout [UInt8]) {
    var place = 0
    /// The start of the bytes that need no escape and are not copied yet.
    var plain = 0
    while place < text.count {
        let unprintable = unprintableSize(text, place)
        let byte = text[place]
        guard unprintable > 0 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else {
            place += 1
            continue
        }
        quoted += text[plain..<place]
        quoted.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): quoted.append(byte)
        case UInt8(ascii: "\n"): quoted.append(UInt8(ascii: "n"))
        case UInt8(ascii: "\r"): quoted.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\t"): quoted.append(UInt8(ascii: "t"))
        default:
            let rest = text[(place + 1)..<(place + unprintable)]
            let lead = UInt16(
                unprintable == 1 ? byte : unprintable == 2 ? byte & 0x1F : byte & 0x0F
            )
            let unit = rest.reduce(lead) { $0 << 6 | UInt16($1 & 0x3F) }
            quoted.append(UInt8(ascii: "u"))
            for shift in [12, 8, 4, 0] { quoted.append(lowerDigits[Int(unit >> shift & 15)]) }
        }
        place += max(unprintable, 1)
        plain = place
    }
    quoted += text[plain...]
}

/// The number of bytes of the unprintable character at this place: a control character (C0, DEL,
/// C1), a Unicode line end or a mark of the direction of writing. Zero for a printable one.
private func unprintableSize(_ text: UnsafeRawBufferPointer, _ place: Int) -> Int {
    switch text[place] {
    case ..<0x20, 0x7F: 1
    case 0xC2 where text[place + 1] < 0xA0: 2
    case 0xD8 where text[place + 1] == 0x9C: 2
    case 0xE2
    where text[place + 1] == 0x80
        && ((0xA8...0xAE).contains(text[place + 2]) || (0x8E...0x8F).contains(text[place + 2]))
        || text[place + 1] == 0x81 && (0xA6...0xA9).contains(text[place + 2]):
        3
    default: 0
    }
}

extension Unicode.Scalar {
    /// Control characters (C0, DEL, C1), which a terminal obeys, and Unicode line ends.
    fileprivate var isUnprintable: Bool {
        value < 0x20 || (0x7f...0x9f).contains(value) || value == 0x2028 || value == 0x2029
    }
}
