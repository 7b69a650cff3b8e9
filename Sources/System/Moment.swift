package import Glibc

/// A point on the monotonic clock, for timeouts and waits.
package struct Moment: Comparable, Hashable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static var now: Moment {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
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

    /// Seconds since 1970. Saturates before 1677 and after 2262, because the number may come from
    /// anywhere.
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
