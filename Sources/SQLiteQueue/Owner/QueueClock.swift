import System

/// The time of day, continued by the monotonic clock. It follows a step of the system's time only
/// when the owner asks. The owner then knows that older stamps do not tell ages.
struct QueueClock: Sendable {
    let now: @Sendable () -> WallTime
    /// Follows the system's time. Returns the step since the last call.
    let follow: @Sendable () -> Duration

    init(
        _ now: @escaping @Sendable () -> WallTime,
        follow: @escaping @Sendable () -> Duration = { .zero }
    ) {
        self.now = now
        self.follow = follow
    }

    static func started() -> QueueClock {
        let ahead = Locked(WallTime.now.nanoseconds - Moment.now.nanoseconds)
        return QueueClock(
            { WallTime(nanoseconds: Moment.now.nanoseconds + ahead.withLock { $0 }) },
            follow: {
                let found = WallTime.now.nanoseconds - Moment.now.nanoseconds
                let step = ahead.withLock { ahead in
                    let step = found - ahead
                    // A smaller difference is the drift of the two clocks and changes nothing about
                    // days.
                    guard step.magnitude > 60_000_000_000 else { return Int64(0) }
                    ahead = found
                    return step
                }
                return .nanoseconds(step)
            }
        )
    }
}
