import Queue
import System

/// A way to SLS as all find it who go there: one gate for them together.
///
/// A single outlet that never gets an answer must not close the region to others. So as long as nothing
/// answered that the region wants rest, an outlet that was not met with silence itself may have one
/// request in flight whatever the gate says: it is a witness, and if it is heard the gate opens.
final class Region {
    let way: Way
    var gate: Gate
    var pause: Pause?
    var notices = FailureNotices()
    /// How many outages have ended.
    private(set) var recoveries = 0
    /// How often its clock was found to be another: what was refused for its time is worth a new
    /// signature after that.
    var clockChanges = 0

    private var silent: Set<Outlet> = []
    private var wantsRest = false

    /// `places` is how many requests the destinations may have in flight that go there.
    init(_ way: Way, places: Int) {
        self.way = way
        gate = Gate(Gate.Bounds(most: places))
        // Each outlet begins carefully; together they are bounded by the places.
        gate.limit = places
    }

    /// One more destination goes there, or one less.
    func grow(by places: Int) {
        var bounds = gate.bounds
        bounds.most = max(1, bounds.most + places)
        gate.set(bounds)
        if places > 0 { gate.limit += places }
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

/// The regions of all destinations: who goes the same way shares one.
final class Regions {
    private var byWay: [Way: Region] = [:]

    /// For one more destination with so many places.
    func region(for way: Way, places: Int) -> Region {
        if let known = byWay[way] {
            known.grow(by: places)
            return known
        }
        let new = Region(way, places: places)
        byWay[way] = new
        return new
    }
}
