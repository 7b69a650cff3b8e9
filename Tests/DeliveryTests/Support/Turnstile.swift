import System
import TestSupport

/// A server that is always busy, however fast or slow the machine is: requests are answered in the
/// order in which they came, each when so many others wait behind it.
final class Turnstile: Sendable {
    private struct State {
        var waiting: [WakeUp] = []
        var isOpen = false
    }

    private let state = Locked(State())
    private let behind: Int

    init(behind: Int) {
        self.behind = behind
    }

    /// Waits for its turn.
    func pass() {
        guard let turn = try? WakeUp() else { return }
        let first = state.withLock { state in
            state.waiting.append(turn)
            return Self.take(state.isOpen ? 0 : behind, &state)
        }
        for turn in first { turn.signal() }
        turn.wait(timeout: .seconds(20))
    }

    /// From now on nobody waits.
    func open() {
        let all = state.withLock { state in
            state.isOpen = true
            return Self.take(0, &state)
        }
        for turn in all { turn.signal() }
    }

    /// Those whose turn it is when so many have to wait.
    private static func take(_ behind: Int, _ state: inout State) -> [WakeUp] {
        let count = max(0, state.waiting.count - behind)
        defer { state.waiting.removeFirst(count) }
        return Array(state.waiting.prefix(count))
    }
}
