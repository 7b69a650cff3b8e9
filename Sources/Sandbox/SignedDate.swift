import Glibc
import System

enum SignedDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// "Tue, 14 Jan 2025 08:30:00 GMT" (RFC 9110 section 5.6.7).
    static func text(of time: WallTime) -> String {
        let parts = time.calendar
        return "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) "
            + "\(parts.tm_year + 1900) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }

    private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }

    /// Parses the above. The weekday may be wrong: SLS's own SDK tests sign such dates.
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
        guard
            clock.count == 3,
            let hour = number(clock[0], digits: 2...2),
            let minute = number(clock[1], digits: 2...2),
            let second = number(clock[2], digits: 2...2)
        else { return nil }
        return time(year, month + 1, day, hour, minute, second)
    }

    /// Parses "20250114T083000Z".
    static func readingCompact(_ text: String) -> WallTime? {
        let all = Array(text)
        guard all.count == 16, all[8] == "T", all[15] == "Z" else { return nil }
        let parts = [0..<4, 4..<6, 6..<8, 9..<11, 11..<13, 13..<15].compactMap {
            number(Substring(String(all[$0])), digits: $0.count...$0.count)
        }
        guard parts.count == 6 else { return nil }
        return time(parts[0], parts[1], parts[2], parts[3], parts[4], parts[5])
    }

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
        guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) })
        else { return nil }
        return Int(text)
    }

    private static func time(
        _ year: Int,
        _ month: Int,
        _ day: Int,
        _ hour: Int,
        _ minute: Int,
        _ second: Int
    ) -> WallTime? {
        // Second 60 is a leap second, which HTTP allows.
        guard
            (1...12).contains(month), (1...length(of: month, in: year)).contains(day),
            hour < 24, minute < 60, second <= 60, (1970...9999).contains(year)
        else { return nil }
        // Days since 1970 in the Gregorian calendar, with years that begin in March.
        let marchYear = month > 2 ? year : year - 1
        let marchMonth = (month + 9) % 12
        let dayOfYear = (153 * marchMonth + 2) / 5 + day - 1
        let dayCount =
            365 * marchYear + marchYear / 4 - marchYear / 100 + marchYear / 400 + dayOfYear
            - 719_468
        let seconds = ((dayCount * 24 + hour) * 60 + minute) * 60 + second
        guard seconds < 9_000_000_000 else { return nil }
        return WallTime(seconds: Int64(seconds))
    }

    private static func length(of month: Int, in year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        default: 31
        }
    }
}
