/// A gate that several destinations share, as wide as all their places together. Each outlet begins
/// carefully, so the places are what bounds the gate.
class SharedGate {
    var gate: Gate
    /// Why the gate is closed.
    var pause: Pause?
    var waiters = GateWaiters()
    /// Destinations that go through it.
    private(set) var users = 0
    private var places = 0

    /// The waits are those of the first destination that goes through it.
    init(waits: Backoff) {
        gate = Gate(Gate.Bounds(most: 1, waits))
    }

    /// One more destination goes through it, with so many places in flight.
    func join(places: Int) {
        users += 1
        self.places += places
        gate.widen(to: self.places)
    }

    /// A destination does not go through it any more.
    func leave(places: Int) {
        precondition(users > 0 && self.places >= places, "a destination leaves a gate once")
        users -= 1
        self.places -= places
        gate.widen(to: max(1, self.places))
    }
}
