import System

/// The time of day at start, carried on by the clock that never jumps: a step of the system's time
/// neither expires what is queued nor holds it back.
struct QueueClock: Sendable {
    let now: @Sendable () -> WallTime

    init(_ now: @escaping @Sendable () -> WallTime) {
        self.now = now
    }

    static func started() -> QueueClock {
        let wall = WallTime.now
        let start = Moment.now
        return QueueClock {
            WallTime(
                nanoseconds: wall.nanoseconds + Moment.now.nanoseconds - start.nanoseconds
            )
        }
    }
}
