import Configuration
import HTTPClient
import Queue
import SLS
import System

/// Publishes what a destination does and has done, for other threads to read. Nothing else writes
/// its status.
struct StatusPublisher {
    private let status: Locked<DestinationStatus>

    init(_ status: Locked<DestinationStatus>) {
        self.status = status
    }

    // MARK: - What happened

    /// Counts one more, such as a retry.
    func count(_ event: WritableKeyPath<DestinationStatus, Int>) {
        status.withLock { $0[keyPath: event] += 1 }
    }

    func answered(_ answer: String, after latency: Duration, by route: TransferRoute?) {
        status.withLock { status in
            if let route, route.address != status.address || route.target?.source != status.resolver
            {
                status.address = route.address
                status.resolver = route.target?.source
            }
            status.latency.record(latency)
            status.answers[answer, default: 0] += 1
        }
    }

    func stored(
        _ packet: SealedPacket,
        of outlet: DeliveryOutlet,
        bodyBytes: Int,
        wasStoredBefore: Bool,
        at time: WallTime
    ) {
        outlet.status.sentPackets += 1
        outlet.status.sentLogs += packet.logCount
        outlet.status.lastSuccess = time
        status.withLock { status in
            status.sentPackets += 1
            status.sentLogs += packet.logCount
            status.sentRawBytes += packet.rawBytes
            status.sentWireBytes += bodyBytes
            status.waits.record(max(.zero, time - packet.oldest))
            if wasStoredBefore { status.storedBefore += 1 }
            status.failuresInARow = 0
            status.lastSuccess = time
        }
    }

    func failed(_ failure: DeliveryFailure, of outlet: DeliveryOutlet) {
        outlet.status.failures[failure.kind, default: 0] += 1
        outlet.status.lastFailure = failure
        status.withLock { status in
            status.failures[failure.kind, default: 0] += 1
            status.results[failure.result, default: 0] += 1
            status.failuresInARow += 1
            status.lastFailure = failure
        }
    }

    func paused(_ reason: PauseReason) {
        status.withLock { $0.pauses[reason, default: 0] += 1 }
    }

    /// Requests go to this endpoint from now on; `reason` says why it is not the first one.
    func switched(to endpoint: String, because reason: String?) {
        status.withLock { status in
            status.endpoint = endpoint
            status.endpointReason = reason
        }
    }

    func clockChanged(to offset: Duration) {
        status.withLock { $0.clockOffset = offset }
    }

    /// The settings have changed. `hasMoved` tells that the endpoints are others.
    func follow(_ settings: Destination, hasMoved: Bool) {
        status.withLock { status in
            status.project = settings.projectInUse
            guard hasMoved else { return }
            status.endpoints = settings.endpointKeys.map(\.description)
            status.endpoint = settings.endpointKeys[0].description
            status.endpointReason = nil
        }
    }

    func stopped() { status.withLock { $0.stop() } }

    // MARK: - The present state

    func show(_ outlet: DeliveryOutlet, at time: WallTime, _ now: Moment) {
        let gate = outlet.gate
        outlet.status.limit = gate.probing == nil ? gate.limit : 1
        outlet.status.inFlight = outlet.line.inFlight
        outlet.status.waiting = outlet.line.waitingCount
        outlet.status.retrying = outlet.line.failedCount
        outlet.status.rate = gate.pacing.rate(now)
        outlet.status.state =
            gate.probing.map { probing in
                .paused(reason: reason(outlet.pause), until: nextProbe(of: probing, at: time, now))
            } ?? .running
        let shown = outlet.status
        status.withLock { $0.byLogstore[shown.logstore] = shown }
    }

    func forget(_ outlet: DeliveryOutlet) {
        status.withLock { _ = $0.byLogstore.removeValue(forKey: outlet.name.logstore) }
    }

    func show(_ state: DestinationStatus.State, of sender: DestinationSender, at now: Moment) {
        let (gates, leases, memory) = (sender.gates, sender.leases, sender.memory)
        let (clock, endpoint) = (sender.clock, gates.endpoint)
        status.withLock { status in
            status.state = state
            status.clockOffset = clock.offset(of: endpoint)
            status.hostIsWrongBy = clock.wrongness(at: endpoint)
            status.awaitingClock = leases.clockWaitCount
            status.leased = leases.count
            status.memoryBytes = memory.used
            status.memoryWaits = memory.waits
            status.inFlight = gates.places.taken
            status.rate = gates.quota.gate.pacing.rate(now)
            status.limit =
                gates.project.probing == nil
                ? min(gates.project.limit, gates.places.total) : 1
        }
    }

    /// The state of a destination that is neither held nor without a credential.
    func state(of gates: GateKeeper, at time: WallTime, _ now: Moment) -> DestinationStatus.State {
        guard let (pause, probing) = gates.blockage(now) else { return .running }
        return .paused(reason: reason(pause), until: nextProbe(of: probing, at: time, now))
    }

    private func reason(_ pause: Pause?) -> String {
        // Only other settings forget why a gate is closed, and leave it to its next probe.
        guard let failure = pause?.failure else {
            return "the settings changed; one request at a time tries them"
        }
        return "\(failure.summary); \(failure.remedy)"
    }

    /// When the next probe goes; nil while one is on its way.
    private func nextProbe(of probing: Probing, at time: WallTime, _ now: Moment) -> WallTime? {
        probing.isFlying ? nil : time + max(.zero, probing.nextOfRefused - now)
    }
}
