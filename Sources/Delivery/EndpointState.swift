import Queue
import System

/// A way to SLS as all find it who go there: one gate for them together, and one clock.
///
/// A single outlet that never gets an answer must not close the region to others. So as long as nothing
/// answered that the region wants rest, an outlet that was not met with silence itself may have one
/// request in flight whatever the gate says: it is a witness, and if it is heard the gate opens.
final class EndpointState {
    let way: EndpointKey
    var gate: Gate
    var pause: Pause?
    var notices = FailureNotices()
    let waiters = GateWaiters()
    /// What time it is there.
    var clock: ServerClock
    /// How many outages have ended, and begun in silence.
    private(set) var recoveries = 0
    private(set) var closures = 0
    /// Destinations that go there.
    private(set) var users = 0
    private var places = 0

    private var silent: Set<Outlet> = []
    private var wantsRest = false

    /// The waits are those of the first destination that goes there.
    init(_ way: EndpointKey, waits: Backoff) {
        self.way = way
        gate = Gate(Gate.Bounds(most: 1, waits))
        clock = ServerClock(way)
    }

    /// One more destination goes there, with so many places in flight. Each outlet begins carefully;
    /// together they are bounded by the places.
    func join(places: Int) {
        users += 1
        self.places += places
        gate.widen(to: self.places)
    }

    /// A destination goes elsewhere.
    func leave(places: Int) {
        users -= 1
        self.places -= places
        gate.widen(to: max(1, self.places))
    }

    func admits(_ outlet: DeliveryOutlet, _ now: Moment) -> Bool {
        gate.permits(now)
            || hearsWitnesses && outlet.gate.inFlight == 0 && !silent.contains(outlet.name)
    }

    /// Whether outlets may be admitted that the gate does not let through.
    var hearsWitnesses: Bool { !wantsRest && !silent.isEmpty }

    /// Takes back a request and what its answer says; tells what that changes.
    func leave(
        _ pass: Gate.Pass,
        _ judgement: Judgement,
        _ verdict: Gate.Verdict,
        of outlet: Outlet,
        _ now: Moment
    ) -> Gate.Change? {
        if judgement.requestID != nil {
            silent.remove(outlet)
            if judgement.scope == .region { wantsRest = true }
            if verdict == .stored { wantsRest = false }
        } else if judgement.scope == .region {
            silent.insert(outlet)
        }
        let change = gate.leave(
            pass,
            verdict,
            retryAfter: judgement.retryAfter(for: .region),
            now,
            random: .random(in: 0...1)
        )
        // SLS may ask to be left alone; then it is not silent, and another endpoint is the same SLS.
        if change == .closed, judgement.retryAfter == nil { closures += 1 }
        if change == .recovered {
            silent = []
            wantsRest = false
            recoveries += 1
        }
        return change
    }

    func forget(_ outlet: Outlet) {
        silent.remove(outlet)
    }
}
