package import System

/// A clock that stands still until a test moves it: the time of day, and the monotonic clock beside
/// it.
package final class ManualClock: Sendable {
    private struct State {
        var now: WallTime
        var moment = Moment(nanoseconds: 1_000_000_000_000)
        var sleepers: [WakeUp] = []
    }

    private let state: Locked<State>
    /// How often a thread went to sleep; by then its work is done.
    private let sleeps = SharedValue(0)

    package init(at now: WallTime = WallTime(seconds: 1_800_000_000)) {
        state = Locked(State(now: now))
    }

    package var now: WallTime { state.withLock { $0.now } }
    package var moment: Moment { state.withLock { $0.moment } }

    /// Moves both clocks.
    package func advance(_ duration: Duration) {
        change { state in
            state.now = state.now + duration
            state.moment = state.moment + duration
        }
    }

    /// Sets the time of day; the monotonic clock stays.
    package func step(_ duration: Duration) {
        change { $0.now = $0.now + duration }
    }

    private func change(_ body: @Sendable (inout State) -> Void) {
        let sleepers = state.withLock { state in
            body(&state)
            return state.sleepers
        }
        for wake in sleepers { wake.signal() }
    }

    /// Sleeps until the next change or signal, unless the time has come already.
    package func sleep(_ wake: WakeUp, until time: WallTime?) {
        let isOver = state.withLock { state in
            if !state.sleepers.contains(where: { $0 === wake }) { state.sleepers.append(wake) }
            return time.map { $0 <= state.now } ?? false
        }
        // A change after this look finds the sleeper in the list.
        sleeps.change { $0 += 1 }
        if !isOver { wake.wait() }
    }

    /// Waits until sleeping threads have made the condition true.
    package func wait(until condition: @Sendable () -> Bool) -> Bool {
        sleeps.wait { _ in condition() }
    }
}
