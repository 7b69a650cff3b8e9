import Glibc
import Synchronization

/// The gateway's own log: one event a line, on standard error.
///
/// JSON where a machine reads, aligned text where a person does. It never carries secrets or what
/// customers log: callers pass names, numbers and reasons.
package struct Journal: Sendable {
    package enum Level: Int, Comparable, Sendable, CaseIterable {
        case debug, info, warning, error

        package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

        package var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }
    }

    package enum Format: Sendable { case json, text }

    package let format: Format
    private let threshold: Threshold
    private let write: @Sendable ([UInt8]) -> Void

    /// Writes to standard error; the format follows from whether that is a terminal.
    package init(level: Level = .info, format: Format? = nil) {
        self.init(level: level, format: format ?? (isatty(2) == 1 ? .text : .json)) { line in
            line.withUnsafeBytes { _ = Glibc.write(2, $0.baseAddress, $0.count) }
        }
    }

    package init(level: Level, format: Format, write: @escaping @Sendable ([UInt8]) -> Void) {
        threshold = Threshold(level)
        self.format = format
        self.write = write
    }

    /// What is written at least. All copies of a journal share it, so that it can change while the
    /// program runs.
    package var level: Level {
        get { threshold.level }
        nonmutating set { threshold.level = newValue }
    }

    /// For tests and tools that have nothing to say.
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
        let time = WallTime.now
        var line =
            switch format {
            case .json: jsonLine(level, event, fields, time)
            case .text: textLine(level, event, fields, time)
            }
        line.append("\n")
        write(Array(line.utf8))
    }

    private func jsonLine(
        _ level: Level,
        _ event: String,
        _ fields: KeyValuePairs<String, any Sendable>,
        _ time: WallTime
    ) -> String {
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

    private func textLine(
        _ level: Level,
        _ event: String,
        _ fields: KeyValuePairs<String, any Sendable>,
        _ time: WallTime
    ) -> String {
        let name = level.name + String(repeating: " ", count: 7 - level.name.utf8.count)
        let isPlain = !event.unicodeScalars.contains(where: \.isUnprintable)
        var line = "\(time.rfc3339) \(name) \(isPlain ? event : jsonQuoted(event))"
        for (key, value) in fields {
            let text = "\(value)"
            let plain =
                !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x22 && $0 < 0x7f }
            line += " \(key)=\(plain ? text : jsonQuoted(text))"
        }
        return line
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

extension WallTime {
    /// "2025-01-14T08:30:00.123Z"
    package var rfc3339: String {
        let parts = calendar
        func padded(_ number: some BinaryInteger, _ width: Int) -> String {
            let digits = "\(number)"
            return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
        }
        let date =
            "\(padded(parts.tm_year + 1900, 4))-\(padded(parts.tm_mon + 1, 2))-\(padded(parts.tm_mday, 2))"
        let clock =
            "\(padded(parts.tm_hour, 2)):\(padded(parts.tm_min, 2)):\(padded(parts.tm_sec, 2))"
        return "\(date)T\(clock).\(padded(milliseconds % 1000, 3))Z"
    }
}

/// A JSON string literal for the text, quotes included.
package func jsonQuoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
        switch scalar {
        case "\"": quoted += "\\\""
        case "\\": quoted += "\\\\"
        case "\n": quoted += "\\n"
        case "\r": quoted += "\\r"
        case "\t": quoted += "\\t"
        case _ where scalar.isUnprintable:
            quoted += "\\u" + hex([UInt8(scalar.value >> 8), UInt8(scalar.value & 0xff)])
        default: quoted.unicodeScalars.append(scalar)
        }
    }
    return quoted + "\""
}

extension Unicode.Scalar {
    /// What a terminal obeys instead of showing it (C0, DEL and C1), and the line ends of Unicode.
    fileprivate var isUnprintable: Bool {
        value < 0x20 || (0x7f...0x9f).contains(value) || value == 0x2028 || value == 0x2029
    }
}
