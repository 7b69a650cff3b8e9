package import Glibc

/// A point on the clock that never jumps; for timeouts and waits.
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

    package static func + (moment: Moment, duration: Duration) -> Moment {
        let (seconds, attoseconds) = duration.components
        return Moment(
            nanoseconds: moment.nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        )
    }

    package static func - (later: Moment, earlier: Moment) -> Duration {
        .nanoseconds(later.nanoseconds - earlier.nanoseconds)
    }
}

/// The time of day as people and SLS tell it. It may jump.
package struct WallTime: Comparable, Hashable, Sendable {
    /// Nanoseconds since 1970.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package init(seconds: Int64) {
        nanoseconds = seconds * 1_000_000_000
    }

    package static var now: WallTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    package var seconds: Int64 { nanoseconds / 1_000_000_000 }
    package var milliseconds: Int64 { nanoseconds / 1_000_000 }

    package static func < (left: WallTime, right: WallTime) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The calendar's view, in UTC.
    package var calendar: tm {
        var seconds = time_t(seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        return parts
    }
}
