import Configuration

/// A gate that destinations share, as wide as all their places together. Each outlet begins
/// carefully, so the places are what bounds it.
class SharedGate<Key: Hashable> {
    let key: Key
    var gate: Gate
    /// Why the gate is closed.
    var pause: Pause?
    var waiters = GateWaiters()
    /// Destinations that go through it.
    private(set) var users = 0
    private var places = 0

    /// The waits are those of the first destination that goes through it.
    required init(_ key: Key, waits: Backoff) {
        self.key = key
        gate = Gate(most: 1, waits: waits)
    }

    /// One more destination goes through it, with so many places in flight.
    func join(places: Int) {
        users += 1
        self.places += places
        gate.widen(to: self.places)
    }

    /// A destination has other places in flight than before.
    func resize(from old: Int, to places: Int) {
        precondition(users > 0 && self.places >= old, "a destination goes through the gate")
        self.places += places - old
        gate.resize(to: max(1, self.places))
    }

    /// A destination does not go through it any more.
    func leave(places: Int) {
        precondition(users > 0 && self.places >= places, "a destination leaves a gate once")
        users -= 1
        self.places -= places
        gate.widen(to: max(1, self.places))
    }
}

/// The gates of one sort that destinations share, by what they have in common.
final class SharedGates<Key, State: SharedGate<Key>> {
    private var byKey: [Key: State] = [:]

    var count: Int { byKey.count }

    /// For one more destination with so many places.
    func join(_ key: Key, places: Int, waits: Backoff) -> State {
        let state = byKey[key] ?? State(key, waits: waits)
        byKey[key] = state
        state.join(places: places)
        return state
    }

    /// Requests in flight keep their gate until they end.
    func release(_ state: State, places: Int) {
        state.leave(places: places)
        if state.users == 0 { byKey[state.key] = nil }
    }
}

/// The gate of a project's quota: a refusal of one destination slows down all that write to the
/// project, and none has to find the rate for itself.
///
/// Only quotas move it. A refused credential is a matter of the destination that has it.
typealias ProjectQuota = SharedGate<QuotaKey>

/// A project is the same by whatever endpoint of its region it is reached.
struct QuotaKey: Hashable {
    /// The region where it is known, else the first endpoint.
    let place: String
    let project: String
}
