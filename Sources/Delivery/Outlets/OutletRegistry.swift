import Queue
import System

/// A destination's outlets: whose turn it is to send, and which are dirty, that is changed since
/// their last visit. An outlet without packets is in no line and costs nothing.
final class OutletRegistry {
    /// How an outlet used its turn.
    enum TurnUse {
        /// It sent a request, or gave up its packet.
        case used
        /// It cannot send now; others may.
        case passed
        /// It goes first as soon as what it waits for is there. Nothing else may go before.
        case blocked
    }

    private let entry: AgendaEntry
    /// What the gate of each new outlet is like, as `GateKeeper` decides.
    var newGate = Gate(most: 1)
    private var outlets: [String: DeliveryOutlet] = [:]
    private var turns = Turns()
    private var dirty: [DeliveryOutlet] = []
    /// How many of the dirty outlets were visited.
    private var visited = 0
    /// Outlets that have packets on lease.
    private(set) var busyCount = 0

    /// The demand that outlets asked the queue by last.
    private var demand = QueueDemand.none

    /// Visits of some thousand outlets, as after a rotation, are spread over turns of so many.
    static let visitsMax = 512

    init(_ entry: AgendaEntry) {
        self.entry = entry
    }

    subscript(logstore: String) -> DeliveryOutlet? { outlets[logstore] }

    var turnCount: Int { turns.count }
    var hasTurns: Bool { turns.count > 0 }
    /// When the first outlet wakes that waits for a time.
    var nextWaking: Moment? { turns.nextWaking }
    /// Outlets that changed and were not visited yet.
    var dirtyCount: Int { dirty.count - visited }

    func forEach(_ body: (DeliveryOutlet) -> Void) {
        for outlet in outlets.values { body(outlet) }
    }

    // MARK: - What the queue has

    /// The queue has logs for this logstore.
    func announced(_ name: Outlet) {
        let outlet = outlet(name)
        outlet.announced()
        markDirty(outlet)
    }

    /// The queue has forgotten this logstore, and what it was asked for.
    func retired(_ name: Outlet) {
        guard let outlet = outlets[name.logstore] else { return }
        outlet.retired()
        markDirty(outlet)
    }

    func arrived(_ lease: Lease) {
        let outlet = outlet(lease.packet.stream.outlet)
        outlet.line.arrived(lease, inFlightMax: outlet.gate.limit)
        turns.enlist(outlet)
        markDirty(outlet)
    }

    private func outlet(_ name: Outlet) -> DeliveryOutlet {
        if let known = outlets[name.logstore] { return known }
        let new = DeliveryOutlet(name, newGate)
        outlets[name.logstore] = new
        return new
    }

    /// Takes out those of the packets that no request carries.
    func takeOut(_ ids: Set<PacketID>, of logstore: String) -> [Lease] {
        guard let outlet = outlets[logstore] else { return [] }
        markDirty(outlet)
        return outlet.line.takeOut(ids)
    }

    // MARK: - Turns

    /// Wakes outlets whose time has come.
    func wakeSleepers(_ now: Moment) {
        turns.wakeSleepers(now)
    }

    /// Gives outlets their turn until one uses it. With `prefersOpen`, outlets with an open gate go
    /// first.
    func giveTurn(
        _ now: Moment,
        prefersOpen: Bool,
        admitsProbes: Bool,
        _ use: (DeliveryOutlet) -> TurnUse
    ) -> Bool {
        for _ in 0..<turns.count {
            let open = prefersOpen ? turns.next(probes: false) : nil
            guard let outlet = open ?? turns.next(probes: admitsProbes) else { return false }
            guard outlet.gate.permits(now) else {
                // Without a time, the end of a request opens it.
                if let opening = outlet.gate.nextOpening { turns.sleep(outlet, until: opening) }
                continue
            }
            switch use(outlet) {
            case .used:
                turns.enlist(outlet)
                return true
            case .passed: turns.enlist(outlet)
            case .blocked:
                turns.putBack(outlet)
                return false
            }
        }
        return false
    }

    // MARK: - Changes

    /// Something happened to the outlet: it is visited at the end of the turn.
    func markDirty(_ outlet: DeliveryOutlet) {
        entry.markDue()
        guard !outlet.isDirty else { return }
        outlet.isDirty = true
        dirty.append(outlet)
    }

    /// The outlet may be able to send before its time.
    func wake(_ outlet: DeliveryOutlet) {
        turns.wake(outlet)
        markDirty(outlet)
    }

    /// Every outlet asks again: a packet that was recalled while nothing was asked for left its
    /// outlet empty, so that no result would ever mark it dirty.
    func askAgain(if demand: QueueDemand) {
        guard demand != self.demand else { return }
        self.demand = demand
        for outlet in outlets.values { markDirty(outlet) }
    }

    func visitDirty(_ visit: (DeliveryOutlet) -> Void) {
        let end = min(dirty.count, visited + Self.visitsMax)
        while visited < end {
            let outlet = dirty[visited]
            visited += 1
            outlet.isDirty = false
            if outlet.noteBusy() { busyCount += outlet.isBusy ? 1 : -1 }
            if outlet.isOver { outlets[outlet.name.logstore] = nil }
            visit(outlet)
        }
        guard visited == dirty.count else { return }
        dirty.removeAll(keepingCapacity: true)
        visited = 0
    }

    // MARK: - Reopening

    /// Lets outlets try at once that are paused for such a reason.
    func reopen(_ now: Moment, where isOver: (Pause) -> Bool) {
        for outlet in outlets.values {
            guard outlet.isProbing, let pause = outlet.pause, isOver(pause) else { continue }
            outlet.gate.reopen(now)
            wake(outlet)
        }
    }

    /// The credential is good: each logstore that was refused with it tries at once. One that is
    /// refused again waits as long as before.
    func retryRefusedWithDestination(_ now: Moment) {
        for outlet in outlets.values where outlet.isProbing && outlet.pause?.scope == .project {
            outlet.gate.hastenProbe(to: now)
            wake(outlet)
        }
    }

    /// The host's clock was wrong and is right again.
    func clockIsRight(_ now: Moment) {
        for outlet in outlets.values {
            outlet.clockIsRight()
            wake(outlet)
        }
        reopen(now, where: \.isClockPause)
    }

    func forgetEvidenceOfPaused() {
        for outlet in outlets.values where outlet.isProbing { outlet.evidence.forget() }
    }

    /// The settings have changed.
    func renew(concurrency: Int, _ now: Moment) {
        for outlet in outlets.values {
            outlet.renew(concurrency: concurrency, now)
            wake(outlet)
        }
    }
}

/// How much the queue is asked for.
enum QueueDemand {
    /// Nothing may be sent: an operator holds the destination, or it has no credential.
    case none
    /// A shared gate lets single requests through: each outlet needs one packet to probe with.
    case probes
    /// Requests flow.
    case all
}
