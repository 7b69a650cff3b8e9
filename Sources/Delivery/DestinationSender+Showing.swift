import System

extension DestinationSender {
    /// Shows the outlet's state to those who look from other threads.
    func show(_ outlet: DeliveryOutlet, _ now: Moment) {
        let gate = outlet.gate
        outlet.status.limit = gate.probing == nil ? gate.limit : 1
        outlet.status.inFlight = outlet.leases.inFlight
        outlet.status.waiting = outlet.leases.waitingCount
        outlet.status.retrying = outlet.leases.failedCount
        outlet.status.rate = gate.pacing.rate(now)
        outlet.status.state =
            gate.probing.map { probing in
                .paused(reason: reason(outlet.pause), until: time(of: probing, now))
            } ?? .running
        let shown = outlet.status
        status.withLock { $0.byLogstore[shown.logstore] = shown }
    }

    func publish(_ now: Moment) {
        let state = state(now)
        let clockOffset = endpoint.clock.offset ?? settings.clockOffset
        let hostIsWrongBy = endpoint.clock.hostIsWrong(assuming: settings.clockOffset)
        if hostToldWrongBy != hostIsWrongBy {
            hostToldWrongBy = hostIsWrongBy
            surroundings.clockOffsets.set(hostIsWrongBy, for: settings.name)
        }
        status.withLock { status in
            status.state = state
            status.clockOffset = clockOffset
            status.inFlight = places.taken
            status.leased = leased
            status.memoryBytes = contentBytes + bodyBytes
            status.awaitingClock = clockWaits.count
            status.hostIsWrongBy = hostIsWrongBy
            status.rate = quota.gate.pacing.rate(now)
            status.limit = project.probing == nil ? min(project.limit, places.total) : 1
        }
    }

    private func state(_ now: Moment) -> DestinationStatus.State {
        if isHeld { return .held }
        if let problem = access.problem { return .waitingForCredential(reason: problem) }
        if let probing = project.probing, isInTheWay(probing, now) {
            return .paused(reason: reason(pause), until: time(of: probing, now))
        }
        if let probing = quota.gate.probing, isInTheWay(probing, now) {
            return .paused(reason: reason(quota.pause), until: time(of: probing, now))
        }
        if let probing = endpoint.gate.probing, isInTheWay(probing, now) {
            return .paused(reason: reason(endpoint.pause), until: time(of: probing, now))
        }
        return .running
    }

    /// A gate whose probe is due keeps nothing back when there is nothing to send: the next log is the probe. Shown as
    /// paused, a gateway that is not ready for that would never get one.
    private func isInTheWay(_ probing: Probing, _ now: Moment) -> Bool {
        probing.isFlying || probing.next > now || turns.count > 0
    }

    private func reason(_ pause: Pause?) -> String {
        guard let failure = pause?.failure else { return "it was asked to wait" }
        return "\(failure.summary); \(failure.remedy)"
    }

    /// When the next probe goes; nil while one is on its way.
    private func time(of probing: Probing, _ now: Moment) -> WallTime? {
        probing.isFlying ? nil : surroundings.now() + max(.zero, probing.nextOfRefused - now)
    }
}
