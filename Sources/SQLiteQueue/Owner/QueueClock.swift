import System

/// The time of day, carried on by the clock that never jumps. A step of the system's time is followed
/// when the owner asks, who then knows that ages cannot be told by the stamps of before.
struct QueueClock: Sendable {
    let now: @Sendable () -> WallTime
    /// By how much the system's time was stepped since it was last followed.
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
                    // Less is the two clocks' drift, and changes nothing about days.
                    guard step.magnitude > 60_000_000_000 else { return Int64(0) }
                    ahead = found
                    return step
                }
                return .nanoseconds(step)
            }
        )
    }
}
