import Synchronization
package import System

/// The keys that one issuer publishes, as last fetched. All loops read them; the fetching thread
/// writes them.
///
/// An unknown key causes a fetch, because issuers sign with a new key as soon as they publish it.
/// Only a fetch that began after the question can show that the key does not exist. Until then the
/// sender is told to retry: SDKs drop logs that are answered with 401.
package final class FetchedTokenKeys: Sendable {
    package enum Answer: Equatable {
        case key(PublicKey)
        case unknown
        /// Undecided before the next fetch.
        case awaited
    }

    package struct Status: Sendable, Equatable {
        package var keys = 0
        /// When the present keys were fetched.
        package var fetched: WallTime?
        package var fetches = 0
        package var failures = 0
        /// Why the last fetch failed.
        package var problem: String?
    }

    /// Bound of remembered unknown key names; when it is exceeded, all are forgotten.
    static let askedMax = 256
    /// After this time a name that no fetch brought causes another fetch: an issuer may publish a
    /// key after it begins to sign with it.
    static let askAgainAfter: Duration = .seconds(60)

    private struct State {
        var set: TokenKeySet?
        var status = Status()
        /// The start of the last successful fetch.
        var began: Moment?
        var asked: [String: Moment] = [:]
    }

    private let state = Locked(State())
    /// Increases when the keys change.
    private let changes = Atomic<Int>(0)
    private let isWanted = Atomic<Bool>(false)
    private let wake: @Sendable () -> Void

    /// `wake` is called when a request asks for an unknown key, on the asking thread.
    package init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    package var generation: Int { changes.load(ordering: .acquiring) }
    package var status: Status { state.withLock(\.status) }

    /// True if a request asked for an unknown key since the last call.
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

    /// Stores the keys of a fetch that began at this time; returns whether they differ from the
    /// previous ones.
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

    /// Records a failed fetch; the keys stay.
    package func fail(_ problem: String) {
        state.withLock { state in
            state.status.failures += 1
            state.status.problem = problem
        }
    }
}
