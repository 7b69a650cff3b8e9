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

    /// Of the name of the key 64 bits of a digest, of name and nonce 128.
    struct Mark: Hashable {
        fileprivate let sender: UInt64
        private let first: UInt64
        private let second: UInt64

        init(_ name: [UInt8], _ nonce: [UInt8]) {
            sender = Digest.sha256(name).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
            (first, second) = Digest.sha256(name + [0] + nonce).withUnsafeBytes {
                (
                    $0.loadUnaligned(as: UInt64.self),
                    $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                )
            }
        }
    }

    /// A clock that was set back by more is followed, at the price of what was forgotten: nobody could send a signed
    /// request until it is where it was.
    private static let secondsBackMax: Int64 = 600

    private struct State {
        var used: Set<Mark> = []
        /// How many each sender has, of those that have any.
        var shares: [UInt64: Int] = [:]
        /// By the second in which they last count, of which there are as many as the window has.
        var ends: [Int64: [Mark]] = [:]
        /// What ended before it is forgotten.
        var now: Int64 = 0

        mutating func goOn(to now: Int64) {
            guard now > self.now else { return }
            self.now = now
            for (end, marks) in ends where end < now {
                for mark in marks { forget(mark) }
                ends[end] = nil
            }
        }

        private mutating func forget(_ mark: Mark) {
            used.remove(mark)
            let left = shares[mark.sender, default: 1] - 1
            shares[mark.sender] = left > 0 ? left : nil
        }

        func look(_ mark: Mark, _ room: NonceRoom) -> Outcome {
            guard !used.contains(mark) else { return .used }
            let own = shares[mark.sender] ?? 0
            return room.hasPlace(own: own, all: used.count) ? .new : .full
        }
    }

    private let state = Locked(State())

    var count: Int { state.withLock { $0.used.count } }

    /// Whether it is used or there is no room for it. Uses nothing up; `now` may be a while ago.
    func look(_ mark: Mark, now: Int64, _ room: NonceRoom) -> Outcome {
        state.withLock { state in
            state.goOn(to: now)
            return state.look(mark, room)
        }
    }

    /// `end` is the second in which it last counts.
    func use(_ mark: Mark, until end: Int64, now: Int64, _ room: NonceRoom) -> Outcome {
        state.withLock { state in
            if state.now - now > Self.secondsBackMax { state.now = now }
            state.goOn(to: now)
            guard end >= state.now else { return .past }
            let outcome = state.look(mark, room)
            guard outcome == .new else { return outcome }
            state.used.insert(mark)
            state.shares[mark.sender, default: 0] += 1
            state.ends[end, default: []].append(mark)
            return .new
        }
    }
}
