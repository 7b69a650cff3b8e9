import SLS
import System

@testable import Credentials
@testable import Logs

/// Times, in whatever form they come.
enum TimeEntry: FuzzEntry {
    static let name = "times"
    static let bytesMax = 200

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        for isShort in [false, true] {
            guard case .time(let time) = reading(bytes, isShort) else { continue }
            let digits = "\(1_000_000_000 + UInt64(time.nanoseconds))".dropFirst()
            // Nine digits would be too few to be seconds, but not before a point.
            let again = reading(Array("\(time.seconds).\(digits)".utf8), isShort)
            try check(again == .time(time), "\(time) becomes \(again)")
            if !isShort {
                try check(reading(bytes, true) == .time(time), "shorter forms change others")
            }
        }
        // A format, and a text in it.
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 1)
        if lines.count == 2, let format = TimeFormat(String(decoding: lines[0], as: UTF8.self)) {
            try check(TimeFormat(format.text) == format, "\(format.text) is read differently")
            let time = exactly(Array(lines[1])) { format.time($0.bindMemory(to: UInt8.self)) }
            if let time, format == .iso {
                try check(reading(Array(lines[1]), true) == .time(time), "ISO is read differently")
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        if let time = WallTime(httpDate: text), time.seconds < 9_000_000_000 {
            try check(WallTime(httpDate: time.httpDate) == time, "\(time.httpDate)")
        }
        if let time = WallTime(compactISO8601: text), time.seconds < 9_000_000_000 {
            try check(WallTime(compactISO8601: time.compactISO8601) == time, text)
        }
        if let time = WallTime(iso8601: text), 0..<9_000_000_000 ~= time.seconds {
            try check(WallTime(iso8601: time.iso8601) == time, text)
        }
        if let skew = ClockSkew(clientTime: text, received: Fixed.arrival) {
            try check(abs(skew.seconds) <= 3653 * 86_400, "\(skew)")
        }
    }

    private static func reading(_ bytes: [UInt8], _ isShort: Bool) -> TimeReading {
        exactly(bytes) { bytes in
            TimeReading(bytes.bindMemory(to: UInt8.self), short: isShort)
        }
    }
}
