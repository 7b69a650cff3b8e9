import Configuration
import Queue
import System

/// The gates that a destination's requests pass: the endpoint's and the quota's, which others
/// share, its own, and each outlet's. A request takes a pass of each, and leaves it with its
/// answer.
final class GateKeeper {
    private let shared: DeliveryThreadState
    private let entry: AgendaEntry
    private let reporter: DeliveryReporter
    let outlets: OutletRegistry
    private(set) var endpoints: DestinationEndpoints
    private(set) var quota: ProjectQuota
    /// The destination's own gate.
    private(set) var project: Gate
    private(set) var places: Places
    private var concurrency: AdaptiveConcurrency

    init(
        _ settings: Destination,
        _ shared: DeliveryThreadState,
        _ entry: AgendaEntry,
        outlets: OutletRegistry,
        reporter: DeliveryReporter
    ) {
        self.shared = shared
        self.entry = entry
        self.outlets = outlets
        self.reporter = reporter
        concurrency = settings.transfer.adaptiveConcurrency
        places = Places(total: concurrency.places)
        endpoints = DestinationEndpoints(settings, shared.endpoints, places: places.total)
        quota = shared.quotas.join(
            settings.quota,
            places: places.total,
            waits: settings.transfer.retry
        )
        project = Gate(most: places.total, waits: settings.transfer.retry)
        // Each outlet begins carefully; together they are bounded by the places.
        project.limit = places.total
        outlets.newGate = Gate(most: concurrency.width, waits: settings.transfer.retry)
    }

    /// The endpoint that requests use now.
    var endpoint: EndpointState { endpoints.current }

    // MARK: - The way in

    /// The endpoint of the next request; nil while a gate that all outlets use is closed. If others
    /// share the gate, this one is looked at when a request behind it ends.
    func openEndpoint(_ now: Moment) -> EndpointState? {
        guard places.free(within: project.limit) > 0, project.permits(now) else { return nil }
        guard quota.gate.permits(now) else {
            quota.waiters.add(entry)
            return nil
        }
        let endpoint = endpoints.next(now)
        guard endpoint.gate.permits(now) || endpoint.hearsWitnesses else {
            waitForEndpoints()
            return nil
        }
        return endpoint
    }

    /// While probing, a logstore that was not refused itself goes first.
    var prefersOpenOutlets: Bool { project.probing != nil }

    func admitsProbes(_ now: Moment) -> Bool {
        places.admitProbes && project.nextOpeningOfRefused.map { $0 <= now } ?? false
    }

    /// True when the outlet, whose own gate is open, may send to the endpoint.
    func admits(_ outlet: DeliveryOutlet, at endpoint: EndpointState, _ now: Moment) -> Bool {
        guard endpoint.admits(outlet.name, inFlight: outlet.gate.inFlight, now) else {
            waitForEndpoints()
            return false
        }
        return places.admits(
            holding: outlet.gate.inFlight,
            isProbe: outlet.isProbing,
            within: project.limit
        )
    }

    func enter(
        _ outlet: DeliveryOutlet,
        at endpoint: EndpointState,
        bytes: Int,
        _ now: Moment
    ) -> Load.Passes {
        let passes = Load.Passes(
            usedEndpoint: endpoint,
            usedQuota: quota,
            endpoint: endpoint.gate.enter(now, bytes: bytes),
            quota: quota.gate.enter(now, bytes: bytes),
            project: project.enter(now, bytes: bytes),
            outlet: outlet.gate.enter(now, bytes: bytes)
        )
        places.take(isProbe: passes.outlet.isProbe)
        endpoints.started(endpoint, now)
        return passes
    }

    private func waitForEndpoints() {
        for endpoint in endpoints.endpoints { endpoint.waiters.add(entry) }
    }

    // MARK: - The way out

    /// Gives back a request's passes with its answer, and notes the pauses that begin or end.
    /// While the destination waits for something else, more requests in flight would not help.
    func release(_ load: Load, after ending: Ending, waitsElsewhere: Bool, _ now: Moment) {
        let (passes, outlet) = (load.passes, load.outlet)
        let (judgement, failure) = (ending.judgement, ending.failure)
        let isShort = !waitsElsewhere && outlet.line.hasNext && !hasPlace(for: outlet)
        places.giveBack(isProbe: passes.outlet.isProbe)
        // What was sent before the last change tells no reason for what is closed now.
        let isOutletWitness = !ending.isExcused && passes.outlet.epoch == outlet.gate.epoch
        let isProjectWitness = !ending.isExcused && passes.project.epoch == project.epoch
        let outletChange = outlet.gate.release(passes.outlet, after: ending, .logstore, now)
        let projectChange = project.release(passes.project, after: ending, .project, now)
        let quotaChange = load.quota.gate.release(passes.quota, after: ending, .quota, now)
        let endpointChange = load.endpoint.leave(
            passes.endpoint,
            judgement,
            as: ending.verdict(for: .endpoint),
            of: outlet.name,
            now
        )
        if judgement.action == .acknowledge {
            concurrency.stored(sent: load.started, isShort: isShort, now)
        } else if judgement.isOfQuota
            || [outletChange, projectChange, quotaChange, endpointChange].contains(.closed)
        {
            concurrency.startOver(now)
        }
        adapt()
        // Outlets that stay there need not wait for one that went elsewhere.
        if !endpoints.leads(to: load.endpoint) { load.endpoint.forget(outlet.name) }
        load.quota.waiters.wake()
        load.endpoint.waiters.wake()
        if quotaChange != nil || endpointChange != nil { entry.markAllDue() }

        let cause = failure.map { Pause(failure: $0, scope: judgement.scope ?? .logstore) }
        reporter.endpointChanged(load.endpoint, endpointChange, for: cause, now)
        reporter.quotaChanged(load.quota, quotaChange, for: cause)
        reporter.destinationChanged(
            projectChange,
            isProbing: project.probing != nil,
            for: cause,
            isWitness: isProjectWitness,
            at: endpoint,
            now
        )
        // The credential is good.
        if projectChange == .recovered { outlets.retryRefusedWithDestination(now) }
        reporter.outletChanged(
            outlet,
            outletChange,
            for: cause,
            isWitness: isOutletWitness,
            at: endpoint,
            now
        )
        let hasClosed = [outletChange, projectChange, endpointChange].contains(.closed)
        if let failure, !ending.isExcused, !hasClosed {
            reporter.failed(failure, judgement, of: outlet, at: endpoint, now)
        }
    }

    /// Gives back the passes of a request that was not sent.
    func withdraw(_ load: Load) {
        let passes = load.passes
        places.giveBack(isProbe: passes.outlet.isProbe)
        load.outlet.gate.withdraw(passes.outlet)
        project.withdraw(passes.project)
        load.quota.gate.withdraw(passes.quota)
        load.endpoint.gate.withdraw(passes.endpoint)
        endpoints.withdrawn(load.endpoint)
        if !endpoints.leads(to: load.endpoint) { load.endpoint.forget(load.outlet.name) }
        load.quota.waiters.wake()
        load.endpoint.waiters.wake()
        entry.markDue()
    }

    private func hasPlace(for outlet: DeliveryOutlet) -> Bool {
        places.admits(holding: outlet.gate.inFlight, isProbe: false, within: places.total)
    }

    /// Takes over the width of `concurrency`, if it has changed.
    private func adapt() {
        let old = places.total
        guard old != concurrency.places else { return }
        places.set(total: concurrency.places)
        project.resize(to: places.total)
        quota.resize(from: old, to: places.total)
        endpoints.resize(from: old, to: places.total)
        outlets.newGate.resize(to: concurrency.width)
        outlets.forEach { $0.gate.resize(to: concurrency.width) }
        entry.markAllDue()
    }

    /// A request ended after that time. Silence may lead to another endpoint.
    func ended(
        at endpoint: EndpointState,
        _ ending: Ending,
        after duration: Duration,
        _ now: Moment
    ) {
        let change = endpoints.ended(endpoint, ending.judgement, after: duration, now)
        if let change { switched(change, because: ending.failure, now) }
    }

    /// Notices what happened to the endpoints, maybe because of other destinations.
    func lookAtEndpoints(_ now: Moment) {
        if endpoints.takeRecovery() { outlets.reopen(now) { $0.scope == .endpoint } }
        if let change = endpoints.leaveClosed(now) {
            switched(change, because: endpoints.endpoints[change.from].pause?.failure, now)
        }
    }

    /// Requests use another endpoint. What was paused for want of answers is worth a request there.
    private func switched(
        _ change: EndpointChoice.Switch,
        because failure: DeliveryFailure?,
        _ now: Moment
    ) {
        if reporter.pause?.isUnanswered == true { project.reopen(now) }
        outlets.reopen(now, where: \.isUnanswered)
        reporter.switched(change, among: endpoints.endpoints, because: failure, now)
    }

    // MARK: - From outside

    /// The credential was refused to another destination: single requests try it here.
    func pauseForCredential(_ cause: Pause, isUndecided: Bool, _ now: Moment) {
        project.pause(isUndecided: isUndecided, now, random: .random(in: 0...1))
        reporter.pause(
            for: cause,
            "destination is paused: its credential was refused to another one",
            at: endpoint,
            now
        )
    }

    /// Rights are denied: the next request need not wait longer than until then.
    func hastenProbe(of outlet: DeliveryOutlet, _ scope: GateScope?, to moment: Moment) {
        if scope == .project { project.hastenProbe(to: moment) }
        outlet.gate.hastenProbe(to: moment)
    }

    /// A credential was changed: what was refused with the old one is worth a request at once.
    func credentialChanged(_ now: Moment) {
        if reporter.pause?.mayEndWithCredential == true { project.reopen(now) }
        outlets.reopen(now, where: \.mayEndWithCredential)
    }

    /// A new packet has come, or an operator flushes: worth a try after the last one.
    func endRest(of outlet: DeliveryOutlet, _ now: Moment) {
        outlet.gate.endRest(now)
        project.endRest(now)
        for endpoint in endpoints.endpoints { endpoint.gate.endRest(now) }
        // It sleeps until the end of the rest.
        outlets.wake(outlet)
    }

    /// An operator has looked at it: everything paused is worth a request, and packets refused for
    /// their content are taken apart again.
    func tryAgain(_ now: Moment) {
        // Other destinations share gates that open now.
        entry.markAllDue()
        project.reopen(now)
        reopenShared(now)
        outlets.forgetEvidenceOfPaused()
        outlets.reopen(now) { _ in true }
    }

    /// Goes on with other settings. What was learned of endpoints and quotas holds as long as they
    /// stay the same.
    func replaceSettings(_ old: Destination, with new: Destination, _ now: Moment) {
        let oldTotal = places.total
        if new.transfer.concurrency != old.transfer.concurrency || new.hasMoved(from: old) {
            concurrency = new.transfer.adaptiveConcurrency
        }
        places.set(total: concurrency.places)
        if !new.hasMoved(from: old) {
            endpoints.resize(from: oldTotal, to: places.total)
        } else {
            reporter.endpointsReplaced()
            let left = endpoints
            // The new ones first, so that those in both keep what they know.
            endpoints = DestinationEndpoints(new, shared.endpoints, places: places.total)
            left.leave(shared.endpoints, places: oldTotal)
            for endpoint in left.endpoints { outlets.forEach { endpoint.forget($0.name) } }
        }
        let oldQuota = quota
        quota = shared.quotas.join(new.quota, places: places.total, waits: new.transfer.retry)
        shared.quotas.release(oldQuota, places: oldTotal)
        reopenShared(now)
        project.widen(to: places.total)
        project.reopen(now)
        reporter.forgetPause()
        outlets.newGate = Gate(most: concurrency.width, waits: new.transfer.retry)
        outlets.renew(concurrency: concurrency.width, now)
    }

    /// The destination was removed, and no request of it is in flight.
    func leave() {
        endpoints.leave(shared.endpoints, places: places.total)
        for endpoint in endpoints.endpoints { outlets.forEach { endpoint.forget($0.name) } }
        shared.quotas.release(quota, places: places.total)
    }

    private func reopenShared(_ now: Moment) {
        quota.gate.reopen(now)
        for endpoint in endpoints.endpoints { endpoint.gate.reopen(now) }
    }

    var queueDemand: QueueDemand {
        let isProbing =
            project.probing != nil || quota.gate.probing != nil || endpoint.gate.probing != nil
        return isProbing ? .probes : .all
    }

    /// The packets that an outlet has use for: in flight, and some ahead (`PacketsAhead`), which
    /// cover the commit that seals one. The rest stays in the queue, where it still grows.
    func demand(of outlet: DeliveryOutlet, _ now: Moment) -> Int {
        guard queueDemand == .all, outlet.gate.probing == nil else {
            // One more than it has, up to a bound: a new packet ends the rest.
            let isResting = outlet.gate.probing?.isResting ?? false
            return isResting ? min(outlet.line.waitingCount + 1, outlet.gate.most) : 1
        }
        let limit = min(outlet.gate.limit, project.limit)
        let room = min(
            outlet.gate.room(now),
            project.room(now),
            quota.gate.room(now),
            endpoint.gate.room(now)
        )
        let part = (places.total + places.total / 2) / max(1, outlets.busyCount)
        let ahead = outlet.line.ahead.count(inFlightMax: limit)
        return min(outlet.gate.inFlight + room + ahead, max(2, part))
    }

    /// When the first closed gate that all outlets use opens by itself. Nil when none is closed, or
    /// when a request has to end before.
    func nextOpening(_ now: Moment) -> Moment? {
        guard let projectOpens = project.nextOpening else { return nil }
        // A gate without a time opens when a request ends, and gates behind it wait for that, too.
        let closed = [projectOpens, quota.gate.nextOpening, endpoints.nextOpening]
            .first { opening in opening.map { $0 > now } ?? true }
        // All logstores in line may have been refused themselves.
        let ofRefused = project.nextOpeningOfRefused.flatMap { $0 > now ? $0 : nil }
        return [closed ?? nil, ofRefused].compactMap(\.self).min()
    }

    /// The closed gate that keeps logs back, if there is one.
    func blockage(_ now: Moment) -> (pause: Pause?, probing: Probing)? {
        let gates = [
            (reporter.pause, project.probing), (quota.pause, quota.gate.probing),
            (endpoint.pause, endpoint.gate.probing),
        ]
        for case (let pause, let probing?) in gates where keepsBack(probing, now) {
            return (pause, probing)
        }
        return nil
    }

    /// A gate whose probe is due keeps nothing back when there is nothing to send: the next log is
    /// the probe. A gateway that reported itself as not ready would get no log, and so no probe.
    private func keepsBack(_ probing: Probing, _ now: Moment) -> Bool {
        probing.isFlying || probing.next > now || outlets.hasTurns
    }
}

extension Destination.Transfer {
    fileprivate var adaptiveConcurrency: AdaptiveConcurrency {
        AdaptiveConcurrency(usual: usualConcurrency, most: concurrencyMax)
    }
}

extension Judgement {
    fileprivate var isOfQuota: Bool { if case .slowDown = action { true } else { false } }
}

extension Gate {
    /// Gives back the pass of a request that ended so.
    fileprivate mutating func release(
        _ pass: Pass,
        after ending: Ending,
        _ scope: GateScope,
        _ now: Moment
    ) -> Change? {
        leave(
            pass,
            ending.verdict(for: scope),
            retryAfter: ending.retryAfter(for: scope),
            now,
            random: .random(in: 0...1)
        )
    }
}
