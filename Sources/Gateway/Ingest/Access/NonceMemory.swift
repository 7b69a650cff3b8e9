import SLS
import System

/// Which nonces were used, until what they came with is too old to count. Shared by all loops; a restart forgets.
final class NonceMemory: Sendable {
    enum Outcome {
        case new, used
        /// Nothing is remembered of a time so long ago.
        case past
        case full
    }

    /// 128 bits of a digest over the name of the key and the nonce.
    struct Mark: Hashable {
        private let halves: SIMD2<UInt64>

        init(_ name: [UInt8], _ nonce: [UInt8]) {
            halves = Digest.sha256(name + [0] + nonce).withUnsafeBytes {
                $0.loadUnaligned(as: SIMD2<UInt64>.self)
            }
        }
    }

    /// A clock that was set back by more is followed, at the price of what was forgotten: nobody could send a signed
    /// request until it is where it was.
    private static let secondsBackMax: Int64 = 600

    private struct State {
        var used: Set<Mark> = []
        /// By the second in which they last count, of which there are as many as the window has.
        var ends: [Int64: [Mark]] = [:]
        /// What ended before it is forgotten.
        var now: Int64 = 0

        mutating func forget(_ now: Int64) {
            if self.now - now > secondsBackMax { self.now = now }
            guard now > self.now else { return }
            self.now = now
            for (end, marks) in ends where end < now {
                for mark in marks { used.remove(mark) }
                ends[end] = nil
            }
        }
    }

    private let state = Locked(State())

    var count: Int { state.withLock { $0.used.count } }

    func isUsed(_ mark: Mark) -> Bool { state.withLock { $0.used.contains(mark) } }

    /// `end` is the second in which it last counts.
    func use(_ mark: Mark, until end: Int64, now: Int64, max: Int) -> Outcome {
        state.withLock { state in
            state.forget(now)
            guard end >= state.now else { return .past }
            guard !state.used.contains(mark) else { return .used }
            guard state.used.count < max else { return .full }
            state.used.insert(mark)
            state.ends[end, default: []].append(mark)
            return .new
        }
    }
}
