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
    package var past: Duration
    package var future: Duration

    package init(past: Duration, future: Duration = TimeWindow.sls.future) {
        self.past = past
        self.future = future
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
        let earliest = arrival.seconds - past.components.seconds
        let latest = arrival.seconds + future.components.seconds
        return UInt32(clamping: earliest)...UInt32(clamping: max(earliest, latest))
    }
}
