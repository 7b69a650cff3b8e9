package import System

/// When a batch came, and how far its device's clock can be believed.
package struct BatchTiming: Sendable, Equatable {
    /// The time of logs that bring none, and with the offset what others are measured by.
    package var arrival: WallTime
    package var skew: ClockSkew
    /// SLS's clock minus the host's, where the host's is known to be wrong: whether a log is late is told
    /// by SLS's.
    package var offset: Duration

    package init(arrival: WallTime, skew: ClockSkew = .none, offset: Duration = .zero) {
        self.arrival = arrival
        self.skew = skew
        self.offset = offset
    }
}

/// By how much a device's clock is wrong, from what it showed when a request was sent.
package struct ClockSkew: Sendable, Equatable {
    /// What has to be added to the device's times. Whole seconds: the way of a request takes parts of
    /// one, so less than that is nothing that could be known.
    package let seconds: Int64

    package static let none = ClockSkew(seconds: 0)

    /// Smaller ones are mostly the time that the request was on its way.
    private static let leastSeconds: Int64 = 2
    /// A device that is further off has no clock, but something else that counts.
    private static let mostSeconds: Int64 = 3653 * 86_400

    package init(seconds: Int64) {
        self.seconds = seconds
    }

    /// From the device's time as a header brings it: seconds since 1970, with a fraction perhaps, or
    /// finer units, or RFC 3339. Nil when it cannot be read or cannot be a clock's.
    package init?(clientTime: String, received: WallTime) {
        var text = clientTime
        guard case .time(let time) = text.withUTF8({ TimeReading($0) }) else { return nil }
        let shown = Int64(time.seconds) * 1_000_000_000 + Int64(time.nanoseconds)
        let difference = received.nanoseconds - shown
        let half: Int64 = difference < 0 ? -500_000_000 : 500_000_000
        let seconds = (difference + half) / 1_000_000_000
        guard abs(seconds) <= Self.mostSeconds else { return nil }
        self.seconds = abs(seconds) < Self.leastSeconds ? 0 : seconds
    }

    /// The true time; nil when SLS has no place for it.
    func corrected(_ time: LogTime) -> LogTime? {
        UInt32(exactly: Int64(time.seconds) + seconds)
            .map { LogTime(seconds: $0, nanoseconds: time.nanoseconds) }
    }
}
