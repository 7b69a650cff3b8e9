import System

/// A clock that goes on when it is told to.
final class ManualClock: Sendable {
    private let moment = Locked(Moment(nanoseconds: 1_000_000_000_000))

    var now: Moment { moment.withLock { $0 } }

    func goOn(_ time: Duration) {
        moment.withLock { $0 = $0 + time }
    }
}
