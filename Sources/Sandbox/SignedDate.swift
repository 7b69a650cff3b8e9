import Glibc
import System

enum SignedDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Parses "Tue, 14 Jan 2025 08:30:00 GMT" (RFC 9110 section 5.6.7). The weekday may be wrong:
    /// SLS's own SDK tests sign such dates.
    static func reading(_ text: String) -> WallTime? {
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        guard
            words.count == 6, words[0].count == 4, words[0].last == ",",
            days.contains(String(words[0].dropLast())), words[5] == "GMT",
            let day = number(words[1], digits: 1...2),
            let month = months.firstIndex(of: String(words[2])),
            let year = number(words[3], digits: 4...4)
        else { return nil }
        let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
        let numbers = clock.compactMap { number($0, digits: 2...2) }
        guard clock.count == 3, numbers.count == 3 else { return nil }
        return time(year: year, month: month + 1, day: day, clock: numbers)
    }

    /// Parses "20250114T083000Z".
    static func readingCompact(_ text: String) -> WallTime? {
        let all = Array(text)
        guard all.count == 16, all[8] == "T", all[15] == "Z" else { return nil }
        let parts = [0..<4, 4..<6, 6..<8, 9..<11, 11..<13, 13..<15].compactMap {
            number(Substring(String(all[$0])), digits: $0.count...$0.count)
        }
        guard parts.count == 6 else { return nil }
        return time(year: parts[0], month: parts[1], day: parts[2], clock: Array(parts[3...]))
    }

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return Int(text)
    }

    private static func time(year: Int, month: Int, day: Int, clock: [Int]) -> WallTime? {
        // Second 60 is a leap second, which HTTP allows.
        guard
            (1970...9999).contains(year), (1...12).contains(month), clock[0] < 24, clock[1] < 60,
            clock[2] <= 60
        else { return nil }
        var parts = tm()
        parts.tm_year = Int32(year - 1900)
        parts.tm_mon = Int32(month - 1)
        parts.tm_mday = Int32(day)
        let midnight = timegm(&parts)
        // It moves a day that the month does not have to another month.
        guard parts.tm_mday == Int32(day) else { return nil }
        let seconds = midnight + (clock[0] * 60 + clock[1]) * 60 + clock[2]
        return seconds < 9_000_000_000 ? WallTime(seconds: Int64(seconds)) : nil
    }
}
