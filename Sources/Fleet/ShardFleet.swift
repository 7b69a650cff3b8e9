package import Queue
import SQLiteQueue
package import System

/// The queue of a gateway in a cluster: its home shard, which takes the logs of its devices, and the shards of others that it
/// has adopted and only empties.
///
/// Which shards these are is decided by `FleetKeeper`. This class passes calls on to them.
package final class ShardFleet: Sendable {
    /// Where delivery wants to be told.
    struct Receivers: Sendable {
        var packets: @Sendable ([SealedPacket]) -> Void = { _ in }
        var announced: @Sendable ([Outlet]) -> Void = { _ in }
        var retired: @Sendable ([Outlet]) -> Void = { _ in }
        var recalled: @Sendable ([Outlet: Set<PacketID>]) -> Void = { _ in }
    }

    struct Home: Sendable {
        let name: String
        let shard: Shard
        let queue: DurableQueue
    }

    private struct State: Sendable {
        var home: Home
        var adopted: [Shard: AdoptedShard] = [:]
        /// What a shard had that is being absorbed, without its dead letters.
        var absorbed: QueueStatus?
        var receivers = Receivers()
        /// True once delivery takes packets.
        var isDelivering = false
        /// The outlets that the home shard has announced.
        var announced: Set<Outlet> = []
        var rules: [String: DestinationRules]
        var bounds: QueueBounds?
        var watcher: (any QueueWatcher)?
        /// Another gateway has the home shard, and no other one is open yet.
        var isHomeLost = false
        /// No request may begin after this moment: another gateway may be about to take the shards.
        var trustedUntil: Moment
        var figures = FleetStatus()
    }

    private let state: Locked<State>
    let control: ControlLog
    private let keeper = Locked<FleetKeeper?>(nil)

    init(
        _ home: Home,
        _ control: ControlLog,
        rules: [String: DestinationRules],
        trustedUntil: Moment
    ) {
        self.control = control
        state = Locked(State(home: home, rules: rules, trustedUntil: trustedUntil))
    }

    func keep(by keeper: FleetKeeper) { self.keeper.withLock { $0 = keeper } }

    // MARK: - Shards

    var home: Home { state.withLock { $0.home } }
    var homeQueue: DurableQueue { home.queue }
    var adopted: [AdoptedShard] { state.withLock { Array($0.adopted.values) } }

    /// All queues, that of the home shard first, then by their numbers.
    var queues: [(shard: Shard, queue: DurableQueue)] {
        state.withLock { state in
            [(state.home.shard, state.home.queue)]
                + state.adopted.values.sorted { $0.shard.number < $1.shard.number }
                .map { ($0.shard, $0.queue) }
        }
    }

    /// nil: this gateway has the shard no more.
    func queue(of shard: Shard) -> DurableQueue? {
        state.withLock { state in
            guard state.home.shard == shard else { return state.adopted[shard]?.queue }
            return state.isHomeLost ? nil : state.home.queue
        }
    }

    /// A shard by its name; nil: this gateway does not have it.
    func owned(_ name: String) -> Home? {
        let home = home
        guard home.name != name else { return home }
        return adopted.first { $0.name == name }.map {
            Home(name: $0.name, shard: $0.shard, queue: $0.queue)
        }
    }

    /// Delivery must begin nothing more with the home shard.
    func loseHome() { state.withLock { $0.isHomeLost = true } }

    @discardableResult
    func dropShard(named name: String) -> AdoptedShard? {
        guard let shard = adopted.first(where: { $0.name == name }) else { return nil }
        drop(shard.shard)
        return shard
    }

    /// Begins to empty a shard.
    func adopt(_ new: AdoptedShard) {
        let (receivers, isDelivering) = state.withLock { state in
            state.adopted[new.shard] = new
            return (state.receivers, state.isDelivering)
        }
        bringUpToDate(new.queue)
        new.use(destinations)
        if isDelivering { deliver(new, to: receivers) }
    }

    private func deliver(_ shard: AdoptedShard, to receivers: Receivers) {
        shard.deliver(to: receivers) { [weak self] outlets in self?.retire(Set(outlets)) }
    }

    /// Forgets an adopted shard. What delivery holds of it is of no use any more.
    func drop(_ shard: Shard) {
        let gone = state.withLock { $0.adopted.removeValue(forKey: shard) }
        if let gone { retire(gone.outlets) }
    }

    /// Lets delivery forget outlets that an adopted shard had, unless another shard has them.
    private func retire(_ outlets: Set<Outlet>) {
        let (gone, receivers) = state.withLock { state in
            let left = state.adopted.values.reduce(state.announced) { $0.union($1.outlets) }
            return (outlets.subtracting(left), state.receivers)
        }
        guard !gone.isEmpty else { return }
        receivers.retired(Array(gone))
        // The home shard may have announced some of them meanwhile.
        let again = state.withLock { $0.announced.intersection(gone) }
        if !again.isEmpty { receivers.announced(Array(again)) }
    }

    /// Forgets a shard that was ceded. What it has counted goes to the home shard in a moment.
    func cede(_ name: String) {
        guard let shard = adopted.first(where: { $0.name == name }) else { return }
        let status = shard.queue.status.ledgersWithoutDead
        state.withLock { state in
            state.absorbed = status
            state.adopted[shard.shard] = nil
        }
        retire(shard.outlets)
    }

    /// The home shard has counted it, or does not in this attempt.
    func absorptionEnded() { state.withLock { $0.absorbed = nil } }

    /// Puts another home shard in the place of one that was lost. Returns the old one.
    func replaceHome(with new: Home) -> Home {
        let (old, receivers, retired, isDelivering) = state.withLock { state in
            let (old, retired) = (state.home, state.announced)
            state.home = new
            state.isHomeLost = false
            state.announced = []
            return (old, state.receivers, retired, state.isDelivering)
        }
        // Delivery's requests were the old one's.
        if !retired.isEmpty { receivers.retired(Array(retired)) }
        bringUpToDate(new.queue)
        if isDelivering { deliverHome(new, to: receivers) }
        return old
    }

    private func bringUpToDate(_ queue: DurableQueue) {
        let (rules, bounds, watcher) = state.withLock { ($0.rules, $0.bounds, $0.watcher) }
        queue.apply(rules, bounds)
        if let watcher { queue.tellEnds(to: watcher) }
    }

    private func deliverHome(_ home: Home, to receivers: Receivers) {
        let shard = home.shard
        home.queue.recallPackets(to: receivers.recalled)
        home.queue.retireOutlets { [weak self] outlets in
            guard self?.note(outlets, of: shard, isAnnounced: false) ?? false else { return }
            receivers.retired(outlets)
        }
        home.queue.deliver(to: receivers.packets)
        home.queue.announceOutlets { [weak self] outlets in
            guard self?.note(outlets, of: shard, isAnnounced: true) ?? false else { return }
            receivers.announced(outlets)
        }
    }

    /// False if the shard is not the home shard any more.
    private func note(_ outlets: [Outlet], of shard: Shard, isAnnounced: Bool) -> Bool {
        state.withLock { state in
            guard state.home.shard == shard else { return false }
            if isAnnounced {
                state.announced.formUnion(outlets)
            } else {
                state.announced.subtract(outlets)
            }
            return true
        }
    }

    // MARK: - For the keeper

    func trust(until moment: Moment) { state.withLock { $0.trustedUntil = moment } }
    var trustedUntil: Moment { state.withLock(\.trustedUntil) }

    var isTrusted: Bool { state.withLock { Moment.now < $0.trustedUntil } }

    /// Notes why an orphan is not adopted. True if that is new.
    func refuse(_ orphan: String, _ reason: String) -> Bool {
        state.withLock { state in
            state.figures.refusedOrphans.updateValue(reason, forKey: orphan) != reason
        }
    }

    func change(_ body: (inout FleetStatus) -> Void) { state.withLock { body(&$0.figures) } }

    var destinations: Set<String> { state.withLock { Set($0.rules.keys) } }
    var rules: [String: DestinationRules] { state.withLock(\.rules) }
}

// MARK: - As a whole

extension ShardFleet: GatewayQueue {
    package var status: QueueStatus {
        let (home, adopted, absorbed, figures) = state.withLock { state in
            (state.home, Array(state.adopted.values), state.absorbed, state.figures)
        }
        var status = home.queue.status
        var fleet = figures
        fleet.shards = [FleetStatus.Shard(home.name, .home, status)]
        for shard in adopted.sorted(by: { $0.shard.number < $1.shard.number }) {
            let its = shard.queue.status
            fleet.shards.append(FleetStatus.Shard(shard.name, .adopted, its))
            status.add(its)
        }
        if let absorbed { status.add(absorbed) }
        status.fleet = fleet
        return status
    }

    package func apply(_ rules: [String: DestinationRules], _ bounds: QueueBounds?) {
        state.withLock { state in
            state.rules = rules
            state.bounds = bounds ?? state.bounds
        }
        for (_, queue) in queues { queue.apply(rules, bounds) }
        for shard in adopted { shard.use(Set(rules.keys)) }
    }

    package func tellEnds(to watcher: any QueueWatcher) {
        state.withLock { $0.watcher = watcher }
        for (_, queue) in queues { queue.tellEnds(to: watcher) }
    }

    package func close() {
        guard let keeper = keeper.withLock({ $0.take() }) else { return }
        keeper.stop()
    }
}

// MARK: - BatchQueue

extension ShardFleet: BatchQueue {
    package var admission: QueueAdmission { homeQueue.admission }

    package func admission(for outlet: Outlet) -> QueueAdmission {
        homeQueue.admission(for: outlet)
    }

    package func admission(forDestination name: String) -> QueueAdmission {
        homeQueue.admission(forDestination: name)
    }

    package func crowdedOut(_ outlets: [Outlet]) -> Set<Outlet> { homeQueue.crowdedOut(outlets) }

    package func keepsUnreadable(for destination: String) -> Bool {
        homeQueue.keepsUnreadable(for: destination)
    }

    package func append(
        _ batches: [Batch],
        identity: BatchIdentity?,
        sender: String?,
        tally: IntakeTally,
        on thread: (any CallbackThread)?,
        whenDurable: @escaping @Sendable (AppendOutcome) -> Void
    ) {
        homeQueue.append(
            batches,
            identity: identity,
            sender: sender,
            tally: tally,
            on: thread,
            whenDurable: whenDurable
        )
    }

    package func count(_ tally: IntakeTally) { homeQueue.count(tally) }
}

// MARK: - PacketSource

extension ShardFleet: PacketSource {
    package func recallPackets(
        to receiver: @escaping @Sendable ([Outlet: Set<PacketID>]) -> Void
    ) {
        state.withLock { $0.receivers.recalled = receiver }
    }

    package func retireOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        state.withLock { $0.receivers.retired = receiver }
    }

    package func deliver(to receiver: @escaping @Sendable ([SealedPacket]) -> Void) {
        state.withLock { $0.receivers.packets = receiver }
    }

    /// Delivery calls this after the others, and again when it has more destinations.
    package func announceOutlets(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        let (home, adopted, receivers) = state.withLock { state in
            let adopted = state.isDelivering ? [] : Array(state.adopted.values)
            state.receivers.announced = receiver
            state.isDelivering = true
            return (state.home, adopted, state.receivers)
        }
        deliverHome(home, to: receivers)
        for shard in adopted { deliver(shard, to: receivers) }
    }

    package func request(_ count: Int, for outlet: Outlet) { homeQueue.request(count, for: outlet) }

    package func flush(_ destination: String) {
        for (_, queue) in queues { queue.flush(destination) }
    }

    package func blocks(of packet: SealedPacket) throws(QueueError) -> [StoredBlock] {
        guard let queue = queue(of: packet.shard) else {
            throw QueueError(.withdrawn, "\(packet.id) belongs to another gateway now.")
        }
        guard isTrusted else {
            throw QueueError(
                .unreachable,
                "\(packet.id) waits: another gateway may have its shard, or be about to."
            )
        }
        do throws(QueueError) {
            return try queue.blocks(of: packet)
        } catch {
            // Delivery drops such a packet and does not give it back.
            if [.withdrawn, .corrupt].contains(error.kind) { _ = end(packet) }
            throw error
        }
    }

    /// Delivery gives the packet up. Returns its queue; nil: another gateway has the shard now.
    private func end(_ packet: SealedPacket) -> DurableQueue? {
        let (queue, adopted) = state.withLock { state -> (DurableQueue?, AdoptedShard?) in
            if state.home.shard == packet.shard {
                return (state.isHomeLost ? nil : state.home.queue, nil)
            }
            let adopted = state.adopted[packet.shard]
            return (adopted?.queue, adopted)
        }
        adopted?.ended(packet)
        return queue
    }

    package func giveBack(_ packet: SealedPacket) { end(packet)?.giveBack(packet) }

    package func acknowledge(_ packet: SealedPacket) {
        guard let queue = end(packet) else {
            // The shard's next owner sends it once more.
            return change { $0.lateAcknowledgements += 1 }
        }
        queue.acknowledge(packet)
    }

    package func isolate(_ packet: SealedPacket, because reason: DeathReason) {
        end(packet)?.isolate(packet, because: reason)
    }

    package func discard(_ packet: SealedPacket, because reason: DeathReason) {
        end(packet)?.discard(packet, because: reason)
    }

    package func relane(_ packet: SealedPacket) { end(packet)?.relane(packet) }

    package func setAside(_ packet: SealedPacket) { queue(of: packet.shard)?.setAside(packet) }

    package func postpone(_ packet: SealedPacket) { end(packet)?.postpone(packet) }
}
