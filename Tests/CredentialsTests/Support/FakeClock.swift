import System
import TestSupport

@testable import Credentials

/// A time of day that stands still until a test moves it.
final class FakeClock: Sendable {
    private struct State {
        var now: WallTime
        var moment = Moment(nanoseconds: 0)
        var sleepers: [WakeUp] = []
    }

    private let state: Locked<State>
    /// How often somebody went to sleep: then what was to be done is done.
    private let sleeps: SharedValue<Int>

    init(_ now: WallTime = Samples.now) {
        state = Locked(State(now: now))
        sleeps = SharedValue(0)
    }

    var now: WallTime { state.withLock { $0.now } }

    var clock: CredentialClock {
        CredentialClock(
            now: { self.now },
            moment: { self.state.withLock { $0.moment } }
        ) { wake, time in
            let isOver = self.state.withLock { state in
                if !state.sleepers.contains(where: { $0 === wake }) { state.sleepers.append(wake) }
                return time.map { $0 <= state.now } ?? false
            }
            // Whoever moves the clock after this look has the sleeper in its list.
            self.sleeps.change { $0 += 1 }
            if !isOver { wake.wait() }
        }
    }

    /// Lets time pass.
    func advance(_ duration: Duration) {
        change { state in
            state.now = state.now + duration
            state.moment = state.moment + duration
        }
    }

    /// Sets the clock, and no time passes.
    func step(_ duration: Duration) {
        change { $0.now = $0.now + duration }
    }

    private func change(_ body: @Sendable (inout State) -> Void) {
        let sleepers = state.withLock { state in
            body(&state)
            return state.sleepers
        }
        for wake in sleepers { wake.signal() }
    }

    /// Waits until the threads have brought that about.
    func wait(until condition: @Sendable () -> Bool) -> Bool {
        sleeps.wait { _ in condition() }
    }
}
