package import Glibc

/// A point on the clock that runs since the boot, for timeouts and waits. It also runs while the
/// machine is suspended: a gateway that slept must not believe that its shards are still its own.
package struct Moment: Comparable, Hashable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Moment(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package static func < (left: Moment, right: Moment) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Saturates at the clock's end, some 292 years away.
    package static func + (moment: Moment, duration: Duration) -> Moment {
        Moment(nanoseconds: saturatingSum(moment.nanoseconds, duration))
    }

    package static func - (later: Moment, earlier: Moment) -> Duration {
        .nanoseconds(later.nanoseconds) - .nanoseconds(earlier.nanoseconds)
    }
}

/// The time of day. It may jump.
package struct WallTime: Comparable, Hashable, Sendable {
    /// Nanoseconds since 1970.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Seconds since 1970. Saturates before 1677 and after 2262: the number may be anyone's.
    package init(seconds: Int64) {
        nanoseconds = saturatingNanoseconds(seconds: seconds)
    }

    package static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// 2025-01-01. Sluice is younger, so a clock that shows less was never set.
    package static let leastPlausible = WallTime(seconds: 1_735_689_600)

    package var seconds: Int64 { nanoseconds / 1_000_000_000 }
    package var milliseconds: Int64 { nanoseconds / 1_000_000 }

    package static func < (left: WallTime, right: WallTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// Saturates at both ends of the clock.
    package static func + (time: WallTime, duration: Duration) -> WallTime {
        WallTime(nanoseconds: saturatingSum(time.nanoseconds, duration))
    }

    package static func - (later: WallTime, earlier: WallTime) -> Duration {
        .nanoseconds(later.nanoseconds) - .nanoseconds(earlier.nanoseconds)
    }

    /// Calendar date and time in UTC.
    package var calendar: tm {
        var seconds = time_t(seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return parts
    }
}

private func saturatingNanoseconds(seconds: Int64) -> Int64 {
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    guard overflow else { return product }
    return seconds < 0 ? .min : .max
}

private func saturatingSum(_ nanoseconds: Int64, _ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    let whole = saturatingNanoseconds(seconds: seconds)
    return saturatingSum(saturatingSum(nanoseconds, whole), attoseconds / 1_000_000_000)
}

private func saturatingSum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    guard overflow else { return sum }
    return right < 0 ? .min : .max
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

// English names in any locale, unlike strftime's.
private let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
private let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
]

extension WallTime {
    /// "Tue, 14 Jan 2025 08:30:00 GMT" (RFC 9110 section 5.6.7), for `Date`.
    package var httpDate: String {
        let parts = calendar
        let day = "\(weekdays[Int(parts.tm_wday)]), \(twoDigits(parts.tm_mday))"
        let date = "\(day) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
        return "\(date) \(parts.clock(separator: ":")) GMT"
    }

    /// "20250114T083000Z", for `x-log-date`.
    package var compactISO8601: String {
        "\(compactDay)T\(calendar.clock(separator: ""))Z"
    }

    /// "20250114", the day for which a v4 signing key is valid.
    package var compactDay: String {
        let parts = calendar
        return "\(parts.tm_year + 1900)\(twoDigits(parts.tm_mon + 1))\(twoDigits(parts.tm_mday))"
    }

    /// Parses "Tue, 14 Jan 2025 08:30:00 GMT"; nil for any other form. The weekday is not checked
    /// against the date, because nothing relies on it.
    package init?(httpDate text: String) {
        let words = text.split(separator: " ")
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT",
            let day = Int32(words[1]), (1...31).contains(day),
            let month = months.firstIndex(of: String(words[2])),
            let year = Int32(words[3]), (1970...9999).contains(year)
        else { return nil }
        let clock = words[4].split(separator: ":").compactMap { Int32($0) }
        guard clock.count == 3 else { return nil }
        self.init(year: year, month: Int32(month) + 1, day: day, clock: clock)
    }

    /// Parses "20250114T083000Z"; nil for any other form.
    package init?(compactISO8601 text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z")
        else { return nil }
        let digits = bytes[..<8] + bytes[9..<15]
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        func number(_ range: Range<Int>) -> Int32 {
            bytes[range].reduce(0) { $0 * 10 + Int32($1 & 15) }
        }
        let (year, month, day) = (number(0..<4), number(4..<6), number(6..<8))
        guard (1970...9999).contains(year), (1...12).contains(month), (1...31).contains(day) else {
            return nil
        }
        let clock = [number(9..<11), number(11..<13), number(13..<15)]
        self.init(year: year, month: month, day: day, clock: clock)
    }

    /// Second 60 is a leap second.
    private init?(year: Int32, month: Int32, day: Int32, clock: [Int32]) {
        guard (0...23).contains(clock[0]), (0...59).contains(clock[1]),
            (0...60).contains(clock[2])
        else { return nil }
        var parts = tm()
        parts.tm_year = year - 1900
        parts.tm_mon = month - 1
        parts.tm_mday = day
        parts.tm_hour = clock[0]
        parts.tm_min = clock[1]
        parts.tm_sec = clock[2]
        self.init(seconds: Int64(timegm(&parts)))
    }
}

extension tm {
    fileprivate func clock(separator: String) -> String {
        [tm_hour, tm_min, tm_sec].map(twoDigits).joined(separator: separator)
    }
}

private func twoDigits(_ number: Int32) -> String {
    number < 10 ? "0\(number)" : "\(number)"
}
