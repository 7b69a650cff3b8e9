import Glibc
import System

/// Writes times as "2025-01-14T08:30:00.123Z", and remembers the text of the second before: most
/// logs share theirs with their neighbours.
struct RFC3339Clock {
    private var second: UInt32?
    /// "2025-01-14T08:30:00"
    private var text: [UInt8] = []

    /// A part below the second is written with three, six or nine digits.
    mutating func write(_ time: LogTime, to output: inout LogOutput) {
        if second != time.seconds {
            text = Self.text(time.seconds)
            second = time.seconds
        }
        output.append(text)
        if time.nanoseconds > 0 {
            output.append(".")
            let (number, digits) =
                switch time.nanoseconds {
                case let part where part % 1_000_000 == 0: (part / 1_000_000, 3)
                case let part where part % 1000 == 0: (part / 1000, 6)
                case let part: (part, 9)
                }
            var fraction: [UInt8] = []
            Self.append(Int(number), digits, to: &fraction)
            output.append(fraction)
        }
        output.append("Z")
    }

    private static func text(_ seconds: UInt32) -> [UInt8] {
        let parts = WallTime(seconds: Int64(seconds)).calendar
        var text: [UInt8] = []
        text.reserveCapacity(19)
        append(Int(parts.tm_year) + 1900, 4, to: &text)
        for (separator, number) in [
            ("-", parts.tm_mon + 1), ("-", parts.tm_mday), ("T", parts.tm_hour),
            (":", parts.tm_min), (":", parts.tm_sec),
        ] as [(Unicode.Scalar, CInt)] {
            text.append(UInt8(ascii: separator))
            append(Int(number), 2, to: &text)
        }
        return text
    }

    private static func append(_ number: Int, _ digits: Int, to text: inout [UInt8]) {
        var scale = 1
        for _ in 1..<digits { scale *= 10 }
        while scale > 0 {
            text.append(UInt8(ascii: "0") + UInt8(number / scale % 10))
            scale /= 10
        }
    }
}
