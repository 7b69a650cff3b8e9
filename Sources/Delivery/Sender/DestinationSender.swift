import Configuration
import HTTPClient
import Queue
import Resolvers
import System

/// A destination on the delivery thread. It holds the parts and leads each packet through them:
/// taken from the queue, sent in a request when outlet, gates, place and memory allow it
/// (`+Sending`), and stored, tried again, taken apart, discarded or given back as the answer says
/// (`+Answers`).
final class DestinationSender {
    /// The parts of the gateway that a destination works with.
    struct Dependencies: Sendable {
        let source: any PacketSource
        let credentials: CredentialDoor
        let journal: Journal
        let now: @Sendable () -> WallTime
        let clockOffsets = ClockOffsets()
        /// nil: nobody wants to know of attempts.
        let watcher = Locked<(any AttemptWatcher)?>(nil)
        /// nil: curl resolves all names.
        var names: NameService?
    }

    /// All that depends on the kind of the destination.
    private(set) var output: any Output
    /// Those of the output, which are read for each packet.
    private(set) var settings: Destination
    let carrier: any Carrier
    let agendaEntry: AgendaEntry
    let outlets: OutletRegistry
    let gates: GateKeeper
    let leases: LeaseKeeper
    let reporter: DeliveryReporter
    let status: StatusPublisher
    let watcher: Locked<(any AttemptWatcher)?>
    var credential: DestinationCredential
    var clock: DestinationClock
    var memory: MemoryShare
    let encoders: BodyEncoders
    var encodings: BodyEncodings
    /// Counts the settings so far. A request with older ones says nothing about the present ones.
    private(set) var generation = 0
    /// An operator holds it back.
    private(set) var isHeld = false
    /// The number that the delivery thread gave its latest request.
    var lastSent = 0

    init(
        _ output: any Output,
        _ shared: DeliveryThreadState,
        status: Locked<DestinationStatus>,
        _ dependencies: Dependencies
    ) {
        let settings = output.settings
        self.output = output
        self.settings = settings
        carrier = settings.carrier(dependencies.journal, dependencies.names)
        let status = StatusPublisher(status)
        self.status = status
        watcher = dependencies.watcher
        agendaEntry = shared.agenda.join()
        outlets = OutletRegistry(agendaEntry)
        reporter = DeliveryReporter(settings.name, dependencies.journal, status)
        gates = GateKeeper(settings, shared, agendaEntry, outlets: outlets, reporter: reporter)
        leases = LeaseKeeper(dependencies.source, status)
        memory = MemoryShare(shared.memory, agendaEntry)
        encoders = shared.encoders
        encodings = BodyEncodings(of: agendaEntry.number, shared.encoders)
        credential = DestinationCredential(settings, dependencies.credentials, shared.refusals)
        clock = DestinationClock(
            settings.name,
            host: dependencies.now,
            dependencies.clockOffsets,
            assuming: settings.transfer.clockOffset
        )
    }

    /// No request is under way, or about to be.
    var isIdle: Bool { carrier.isIdle && encodings.isEmpty }

    // MARK: - From the queue

    func take(_ packet: SealedPacket) {
        var lease = Lease(packet)
        leases.began(lease)
        if !memory.reserve(content: lease.contentBytes) { lease.dropContent() }
        outlets.arrived(lease)
        if settings.transfer.retry.times != nil, let outlet = outlets[packet.stream.logstore] {
            gates.endRest(of: outlet, .now)
        }
    }

    func announced(_ outlet: Outlet) {
        outlets.announced(outlet)
    }

    func retired(_ outlet: Outlet) { outlets.retired(outlet) }

    /// The queue wants these back. Those under way come back with their next attempt.
    func giveBack(_ ids: Set<PacketID>, of logstore: String) {
        let waiting = outlets.takeOut(ids, of: logstore)
        for lease in waiting { memory.release(content: lease.contentBytes) }
        leases.giveBack(waiting)
    }

    // MARK: - From operators, and from other destinations

    /// Sends nothing more, or goes on.
    func hold(_ isHeld: Bool) {
        guard isHeld != self.isHeld else { return }
        self.isHeld = isHeld
        agendaEntry.markDue()
        if isHeld { status.paused(.held) }
    }

    func tryAgain() { gates.tryAgain(.now) }

    /// Work that waits for an address goes on, and so does what failed for want of one.
    func addressesChanged(on loop: TransferLoop) {
        if carrier.addressesChanged(on: loop) { gates.tryAgain(.now) }
    }

    func endRest() { outlets.forEach { gates.endRest(of: $0, .now) } }

    func credentialsChanged() {
        credential.lookNow()
        agendaEntry.markDue()
        gates.credentialChanged(.now)
    }

    /// Pauses this destination when its credential was refused to another one.
    func heed(_ refusal: CredentialRefusals.Refusal, _ now: Moment) {
        guard gates.project.probing == nil, credential.isConcerned(by: refusal) else { return }
        agendaEntry.markDue()
        let cause = Pause(failure: refusal.failure, scope: .project)
        gates.pauseForCredential(cause, isUndecided: refusal.isUndecided, now)
    }

    /// Goes on with other settings. Requests in flight end as they began; what they say about gates
    /// does not count any more.
    func reconfigure(_ new: any Output, _ now: Moment) {
        let old = settings
        output = new
        settings = new.settings
        generation += 1
        gates.replaceSettings(old, with: settings, now)
        credential.use(settings.credentialInUse)
        clock.assumed = settings.transfer.clockOffset
        carrier.use(settings, now)
        status.follow(settings, hasMoved: settings.hasMoved(from: old))
    }

    /// Ends a removed destination without packets in flight. Shared gates and clocks forget it.
    func leave(_ loop: TransferLoop) {
        abandon(loop)
        gates.leave()
        clock.publish(nil)
        agendaEntry.leave()
    }

    /// Sends nothing more; requests in flight may end.
    func stopEncoding() { encodings.abandon() }

    /// Gives up what is in flight. Its packets were never acknowledged, so the queue has them.
    func abandon(_ loop: TransferLoop) {
        encodings.abandon()
        carrier.abandon(loop)
        status.stopped()
    }

    // MARK: - A turn of the delivery thread

    /// Does what became due since the last turn.
    func advance(_ now: Moment) {
        if credential.isMissing { _ = lookForCredential(now) }
        gates.lookAtEndpoints(now)
        while let lease = leases.takeReread(now) { lineUp(lease) }
        let clockIsRight = clock.takeRecovery(at: gates.endpoint)
        while let lease = leases.takeClockWait(now, clockIsRight: clockIsRight) { lineUp(lease) }
        if clockIsRight { outlets.clockIsRight(now) }
        outlets.wakeSleepers(now)
    }

    /// Who signs a request just now; nil while the credential is missing.
    func lookForCredential(_ now: Moment) -> Signer? {
        let (signer, change) = credential.look(now)
        if let name = credential.name { reporter.credentialChanged(name, change) }
        return signer
    }

    private func lineUp(_ lease: Lease) {
        guard let outlet = outlets[lease.packet.stream.logstore] else {
            preconditionFailure("an outlet goes after its last packet")
        }
        leases.lineUp(lease, of: outlet)
        outlets.wake(outlet)
    }

    /// Asks the queue for packets, and publishes what this turn has changed.
    func endTurn(_ now: Moment) {
        outlets.askAgain(if: demand)
        outlets.visitDirty { outlet in
            if outlet.isOver { return forget(outlet) }
            if !outlet.isRetired { request(for: outlet, now) }
            status.show(outlet, at: clock.now, now)
        }
        publish(now)
        agendaEntry.done(hasMore: outlets.dirtyCount > 0, next: nextDeadline(now))
    }

    /// When there is something to do that no event tells.
    private func nextDeadline(_ now: Moment) -> Moment? {
        if isHeld { return nil }
        // Without a credential nothing is due before the next look for one.
        if let nextLook = credential.nextLook { return nextLook }
        let opening = outlets.hasTurns ? gates.nextOpening(now) : nil
        return [outlets.nextWaking, leases.nextDeadline, opening].compactMap(\.self).min()
    }

    private var demand: QueueDemand {
        isHeld || credential.isMissing ? .none : gates.queueDemand
    }

    /// Asks the queue for what the outlet could send.
    private func request(for outlet: DeliveryOutlet, _ now: Moment) {
        let wanted = demand == .none ? 0 : gates.demand(of: outlet, now)
        leases.request(upTo: wanted, for: outlet)
    }

    private func forget(_ outlet: DeliveryOutlet) {
        for endpoint in gates.endpoints.endpoints { endpoint.forget(outlet.name) }
        status.forget(outlet)
    }

    func publish(_ now: Moment) {
        clock.publish(clock.wrongness(at: gates.endpoint))
        status.show(state(now), of: self, at: now)
    }

    private func state(_ now: Moment) -> DestinationStatus.State {
        if isHeld { return .held }
        if let problem = credential.problem { return .waitingForCredential(reason: problem) }
        return status.state(of: gates, at: clock.now, now)
    }
}

/// The state that all destinations share, for the delivery thread only.
struct DeliveryThreadState {
    let agenda = DeliveryAgenda()
    let endpoints = EndpointStates()
    /// Destinations of one project share a quota.
    let quotas = SharedGates<QuotaKey, ProjectQuota>()
    let refusals = CredentialRefusals()
    let memory: DeliveryMemory
    let encoders: BodyEncoders

    init(memoryMax: Int, _ encoders: BodyEncoders) {
        self.encoders = encoders
        memory = DeliveryMemory(max: memoryMax)
    }
}
