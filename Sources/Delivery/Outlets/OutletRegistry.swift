import Queue
import System

/// The outlets of a destination: which ones there are, whose turn it is to send, and which of them changed since they
/// were last looked at. An outlet without packets is in no line and costs nothing.
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
    private var outlets: [String: DeliveryOutlet] = [:]
    private var turns = Turns()
    private var changed: [DeliveryOutlet] = []
    /// How many of the changed outlets were looked at.
    private var lookedAt = 0
    /// Outlets that have packets on lease.
    private(set) var busyCount = 0

    /// The appetite that outlets asked by last.
    private var appetite = Appetite.nothing

    /// Looks at some thousand outlets, as after a rotation, are spread over turns of so many.
    static let looksAtOnce = 512

    init(_ entry: AgendaEntry) {
        self.entry = entry
    }

    subscript(logstore: String) -> DeliveryOutlet? { outlets[logstore] }

    /// Outlets that have a turn.
    var turnCount: Int { turns.count }
    var hasTurns: Bool { turns.count > 0 }
    /// When the first outlet wakes that waits for a time.
    var nextWaking: Moment? { turns.nextWaking }
    /// Outlets that changed and were not looked at yet.
    var changedCount: Int { changed.count - lookedAt }

    func forEach(_ body: (DeliveryOutlet) -> Void) {
        for outlet in outlets.values { body(outlet) }
    }

    // MARK: - What the queue has

    /// The queue has logs for this logstore.
    func announced(_ name: Outlet, _ bounds: Gate.Bounds) {
        let outlet = outlet(name, bounds)
        outlet.isRetired = false
        outlet.line.forgetRequests()
        touch(outlet)
    }

    /// The queue has forgotten this logstore, and what it was asked for.
    func retired(_ name: Outlet) {
        guard let outlet = outlets[name.logstore] else { return }
        outlet.isRetired = true
        outlet.line.forgetRequests()
        touch(outlet)
    }

    func arrived(_ lease: Lease, _ bounds: Gate.Bounds) {
        let outlet = outlet(lease.packet.stream.outlet, bounds)
        outlet.line.arrived(lease)
        turns.enlist(outlet)
        touch(outlet)
    }

    private func outlet(_ name: Outlet, _ bounds: Gate.Bounds) -> DeliveryOutlet {
        if let known = outlets[name.logstore] { return known }
        let new = DeliveryOutlet(name, bounds)
        outlets[name.logstore] = new
        return new
    }

    /// Takes out those of the packets that no request carries.
    func takeOut(_ numbers: Set<Int64>, of logstore: String) -> [Lease] {
        guard let outlet = outlets[logstore] else { return [] }
        touch(outlet)
        return outlet.line.takeOut(numbers)
    }

    // MARK: - Turns

    /// Wakes outlets whose time has come.
    func wake(_ now: Moment) {
        turns.wake(now)
    }

    /// Gives one outlet after another its turn until one uses it; false when none does. With `prefersOpen` outlets
    /// whose own gate is open go first.
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

    /// Something happened to the outlet: it is looked at at the end of the turn.
    func touch(_ outlet: DeliveryOutlet) {
        entry.note()
        guard !outlet.isTouched else { return }
        outlet.isTouched = true
        changed.append(outlet)
    }

    /// The outlet may be able to send before its time.
    func rouse(_ outlet: DeliveryOutlet) {
        turns.rouse(outlet)
        touch(outlet)
    }

    /// Every outlet asks again whenever the answer may be another one: a packet that was recalled while nothing was
    /// asked for left its outlet without any, so that no result would ever touch it.
    func follow(_ appetite: Appetite) {
        guard appetite != self.appetite else { return }
        self.appetite = appetite
        for outlet in outlets.values { touch(outlet) }
    }

    /// Looks at changed outlets, `looksAtOnce` of them at most.
    func lookAtChanged(_ look: (DeliveryOutlet) -> Void) {
        let end = min(changed.count, lookedAt + Self.looksAtOnce)
        while lookedAt < end {
            let outlet = changed[lookedAt]
            lookedAt += 1
            outlet.isTouched = false
            if outlet.isBusy == outlet.line.isEmpty {
                outlet.isBusy.toggle()
                busyCount += outlet.isBusy ? 1 : -1
            }
            if outlet.isOver { outlets[outlet.name.logstore] = nil }
            look(outlet)
        }
        guard lookedAt == changed.count else { return }
        changed.removeAll(keepingCapacity: true)
        lookedAt = 0
    }

    // MARK: - Reopening

    /// Lets outlets try at once that are paused for such a reason.
    func reopen(_ now: Moment, where isOver: (Pause) -> Bool) {
        for outlet in outlets.values {
            guard outlet.gate.probing != nil, let pause = outlet.pause, isOver(pause) else {
                continue
            }
            outlet.gate.reopen(now)
            rouse(outlet)
        }
    }

    /// The destination's credential is good, so each logstore that was refused together with it tries once more at
    /// once. One that is refused again waits as long as before.
    func retryRefusedWithDestination(_ now: Moment) {
        for outlet in outlets.values
        where outlet.gate.probing != nil && outlet.pause?.scope == .project {
            outlet.gate.hastenProbe(to: now)
            rouse(outlet)
        }
    }

    /// The host's clock was wrong and is right again.
    func clockIsRight(_ now: Moment) {
        for outlet in outlets.values {
            outlet.line.recall()
            if outlet.pause?.isClockPause == true { outlet.evidence.forget() }
            rouse(outlet)
        }
        reopen(now, where: \.isClockPause)
    }

    func forgetEvidenceOfPaused() {
        for outlet in outlets.values where outlet.gate.probing != nil { outlet.evidence.forget() }
    }

    /// The settings have changed.
    func renew(concurrency: Int, _ now: Moment) {
        for outlet in outlets.values {
            outlet.gate.widen(to: concurrency)
            outlet.gate.reopen(now)
            outlet.pause = nil
            // That packets were stored with the old settings proves nothing about the new ones.
            outlet.evidence.forget()
            rouse(outlet)
        }
    }
}

/// How much the queue is asked for.
enum Appetite {
    /// Nothing may be sent: an operator holds the destination, or it has no credential.
    case nothing
    /// A gate that all outlets share lets single requests through: each outlet needs one packet that can be
    /// the probe.
    case probes
    /// Requests flow.
    case all
}
