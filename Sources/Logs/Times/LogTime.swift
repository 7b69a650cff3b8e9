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

    /// The arrival time of a log that brings none, in whole seconds: what lies below is when the
    /// gateway read a body, not when one of its hundred logs happened.
    package init(arrival: WallTime) {
        self.init(seconds: UInt32(clamping: arrival.seconds))
    }
}
