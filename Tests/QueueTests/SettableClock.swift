import Queue
import System

@testable import SQLiteQueue

/// A clock that stands still until a test moves it.
final class SettableClock: Sendable {
    private let time: Locked<WallTime>

    init(at seconds: Int64 = 1_800_000_000) {
        time = Locked(WallTime(seconds: seconds))
    }

    var queueClock: QueueClock { QueueClock { [time] in time.withLock { $0 } } }

    var now: WallTime { time.withLock { $0 } }

    func advance(_ seconds: Int64) {
        time.withLock { $0 = $0 + .seconds(seconds) }
    }

    func tick() {
        time.withLock { $0 = $0 + .milliseconds(1) }
    }
}
