import Crypto
import System

/// Which nonces were used, until what they came with is too old to count. Shared by all loops; a restart forgets.
package final class NonceMemory: Sendable {
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
        /// How many each sender has.
        var shares = FairShares<UInt64>(FairShare(max: 0, holders: 1))
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
            shares.giveBack(mark.sender)
        }

        /// A reload may have changed the share.
        mutating func look(_ mark: Mark, _ share: FairShare) -> Outcome {
            guard !used.contains(mark) else { return .used }
            shares.change(to: share)
            // Of keys that were taken away some may be left.
            let isFull = shares.all >= share.places
            return !isFull && shares.hasPlace(mark.sender) ? .new : .full
        }
    }

    private let state = Locked(State())

    package var count: Int { state.withLock { $0.used.count } }

    /// Whether it is used or there is no room for it. Uses nothing up; `now` may be a while ago.
    func look(_ mark: Mark, now: Int64, _ share: FairShare) -> Outcome {
        state.withLock { state in
            state.goOn(to: now)
            return state.look(mark, share)
        }
    }

    /// `end` is the second in which it last counts.
    func use(_ mark: Mark, until end: Int64, now: Int64, _ share: FairShare) -> Outcome {
        state.withLock { state in
            if state.now - now > Self.secondsBackMax { state.now = now }
            state.goOn(to: now)
            guard end >= state.now else { return .past }
            let outcome = state.look(mark, share)
            guard outcome == .new else { return outcome }
            state.used.insert(mark)
            state.shares.take(mark.sender)
            state.ends[end, default: []].append(mark)
            return .new
        }
    }
}
