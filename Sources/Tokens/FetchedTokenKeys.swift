import Synchronization
package import System

/// The keys of one issuer that publishes them, as they were fetched last. Read by all loops, written by the thread that
/// fetches.
///
/// A key that nobody knows is a reason to fetch: issuers begin to sign with a new one as soon as they publish it. Until
/// a fetch that began later has not brought it either, nobody can say that its token is bad, so its sender is told to
/// come again: SDKs drop what is answered with 401.
package final class FetchedTokenKeys: Sendable {
    package enum Answer: Equatable {
        case key(PublicKey)
        case unknown
        /// Nobody can tell before the next fetch.
        case awaited
    }

    package struct Status: Sendable, Equatable {
        package var keys = 0
        /// When those that are here were fetched.
        package var fetched: WallTime?
        package var fetches = 0
        package var failures = 0
        /// Why the last fetch brought nothing.
        package var problem: String?
    }

    /// Names of keys that somebody asked for in vain; when there are more all are forgotten.
    static let askedMax = 256
    /// A name that no fetch brought is worth another one then: an issuer may publish it after it began to sign with it.
    static let askAgainAfter: Duration = .seconds(60)

    private struct State {
        var set: TokenKeySet?
        var status = Status()
        /// When the last fetch began that brought keys.
        var began: Moment?
        var asked: [String: Moment] = [:]
    }

    private let state = Locked(State())
    /// Rises when other keys are here than before.
    private let changes = Atomic<Int>(0)
    private let isWanted = Atomic<Bool>(false)
    private let wake: @Sendable () -> Void

    /// `wake` is called when somebody asks for a key that is not here, on the thread that asks.
    package init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    package var generation: Int { changes.load(ordering: .acquiring) }
    package var status: Status { state.withLock(\.status) }

    /// Whether somebody asked for a key that is not here since the last call.
    package func takeWish() -> Bool { isWanted.exchange(false, ordering: .acquiringAndReleasing) }

    func find(_ id: String?, at now: Moment = .now) -> Answer {
        let (answer, isNew) = state.withLock { state -> (Answer, Bool) in
            guard let set = state.set else { return (.awaited, false) }
            if let key = set.key(id) { return (.key(key), false) }
            guard let id, id.utf8.count <= TokenKeySet.idBytesMax else { return (.unknown, false) }
            if let asked = state.asked[id] {
                guard let began = state.began, began > asked else { return (.awaited, false) }
                guard now - asked >= Self.askAgainAfter else { return (.unknown, false) }
                state.asked[id] = now
                return (.awaited, true)
            }
            if state.asked.count >= Self.askedMax { state.asked = [:] }
            state.asked[id] = now
            return (.awaited, true)
        }
        if isNew {
            isWanted.store(true, ordering: .releasing)
            wake()
        }
        return answer
    }

    /// What a fetch brought that began at this time. Tells whether other keys are here than before.
    package func take(_ set: TokenKeySet, began: Moment, at now: WallTime) -> Bool {
        let isOther = state.withLock { state in
            let isOther = state.set != set
            state.set = set
            state.began = began
            state.status.keys = set.count
            state.status.fetched = now
            state.status.fetches += 1
            state.status.problem = nil
            return isOther
        }
        if isOther { changes.add(1, ordering: .releasing) }
        return isOther
    }

    /// The keys that are here stay.
    package func fail(_ problem: String) {
        state.withLock { state in
            state.status.failures += 1
            state.status.problem = problem
        }
    }
}
