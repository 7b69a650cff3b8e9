import Crypto
import System

/// The used nonces, each until its signature is too old to be accepted. All loops share it; a
/// restart forgets it.
package final class NonceMemory: Sendable {
    enum Outcome {
        case new, used
        /// The time is so long ago that its nonces are forgotten.
        case past
        case full
    }

    /// A digest: 64 bits of the key's name, 128 bits of name and nonce.
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

    /// A clock that is set back by more than this is followed, and the nonces since then are
    /// forgotten. Otherwise signed requests would be refused until the clock has caught up.
    private static let secondsBackMax: Int64 = 600

    private struct State {
        var used: Set<Mark> = []
        /// Nonces in memory by sender.
        var shares = FairShares<UInt64>(FairShare(max: 0, holders: 1))
        /// By the last second in which they are valid; the window bounds the number of seconds.
        var ends: [Int64: [Mark]] = [:]
        /// Nonces that ended before this second are forgotten.
        var now: Int64 = 0

        mutating func advance(to now: Int64) {
            guard now > self.now else { return }
            self.now = now
            for (end, marks) in ends where end < now {
                for mark in marks { forget(mark) }
                ends[end] = nil
            }
        }

        private mutating func forget(_ mark: Mark) {
            used.remove(mark)
            shares.giveBack(mark.sender)
        }

        /// A reload may have changed the share.
        mutating func check(_ mark: Mark, _ share: FairShare) -> Outcome {
            guard !used.contains(mark) else { return .used }
            shares.change(to: share)
            // Nonces of removed keys may remain.
            let isFull = shares.all >= share.places
            return !isFull && shares.hasPlace(mark.sender) ? .new : .full
        }
    }

    private let state = Locked(State())

    package var count: Int { state.withLock { $0.used.count } }

    /// Checks a nonce without using it up; `now` may be a while ago.
    func check(_ mark: Mark, now: Int64, _ share: FairShare) -> Outcome {
        state.withLock { state in
            state.advance(to: now)
            return state.check(mark, share)
        }
    }

    /// `end` is the last second in which the nonce is valid.
    func use(_ mark: Mark, until end: Int64, now: Int64, _ share: FairShare) -> Outcome {
        state.withLock { state in
            if state.now - now > Self.secondsBackMax { state.now = now }
            state.advance(to: now)
            guard end >= state.now else { return .past }
            let outcome = state.check(mark, share)
            guard outcome == .new else { return outcome }
            state.used.insert(mark)
            state.shares.take(mark.sender)
            state.ends[end, default: []].append(mark)
            return .new
        }
    }
}
