package import System

/// When a log happened, as SLS stores it: seconds that fit 32 bits, and the part below.
package struct LogTime: Hashable, Sendable {
    package let seconds: UInt32
    /// 0 to 999,999,999; zero is not written.
    package let nanoseconds: UInt32

    package init(seconds: UInt32, nanoseconds: UInt32 = 0) {
        precondition(nanoseconds < 1_000_000_000, "nanoseconds are the part below a second")
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The arrival time of a log that brings none, in whole seconds: the part below tells when the
    /// gateway read a body, not when one of its hundred logs happened.
    package init(arrival: WallTime) {
        self.init(seconds: UInt32(clamping: arrival.seconds))
    }
}

/// How far from its arrival a log may have happened.
package struct TimeWindow: Sendable, Equatable {
    package let past: Duration
    package let future: Duration
    /// The same in whole seconds: a duration's components take a division of 128 bits.
    package let pastSeconds: Int64
    package let futureSeconds: Int64

    package init(past: Duration, future: Duration = TimeWindow.sls.future) {
        self.past = past
        self.future = future
        pastSeconds = past.components.seconds
        futureSeconds = future.components.seconds
    }

    /// The window of SLS, which refuses a packet with one log outside as a whole. An hour is left
    /// for the delivery, and a minute for clocks that differ.
    package static let sls = TimeWindow(
        past: .seconds(7 * 86_400 - 3600),
        future: .seconds(14 * 60)
    )

    /// The seconds that are believed at this moment. A host that does not know the time cannot call
    /// a device wrong: SLS refuses what it does not take.
    func seconds(around arrival: WallTime) -> ClosedRange<UInt32> {
        guard arrival >= .leastPlausible else { return 0...UInt32.max }
        let earliest = arrival.seconds - pastSeconds
        let latest = arrival.seconds + futureSeconds
        return UInt32(clamping: earliest)...UInt32(clamping: max(earliest, latest))
    }
}

/// When a batch came, and by how much its device's clock is wrong.
package struct BatchTiming: Sendable, Equatable {
    /// The time of logs that bring none. Others are measured by it, with the offset.
    package var arrival: WallTime
    package var skew: ClockSkew
    /// SLS's clock minus the host's, where that is known to be wrong: SLS's decides what is late.
    package var offset: Duration

    package init(arrival: WallTime, skew: ClockSkew = .none, offset: Duration = .zero) {
        self.arrival = arrival
        self.skew = skew
        self.offset = offset
    }
}

/// By how much a device's clock is wrong, from what it showed when a request was sent.
package struct ClockSkew: Sendable, Equatable {
    /// The seconds to add to the device's times. They are whole, because a request is on its way
    /// for parts of a second, so a smaller skew cannot be known.
    package let seconds: Int64

    package static let none = ClockSkew(seconds: 0)

    /// Smaller ones are mostly the time that the request was on its way.
    private static let leastSeconds: Int64 = 2
    /// A device that is further off has no clock, but some other counter.
    private static let mostSeconds: Int64 = 3653 * 86_400

    package init(seconds: Int64) {
        self.seconds = seconds
    }

    /// From the device's time as a header brings it: seconds since 1970, with a fraction perhaps,
    /// or finer units, or RFC 3339. Nil when it cannot be read or cannot be a clock's.
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
