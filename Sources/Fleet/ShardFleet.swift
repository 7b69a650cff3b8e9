package import Queue
import SQLiteQueue
import System

/// The queue of a gateway in a cluster: its home shard, which takes the logs of its devices, and
/// adopted shards, which it only empties. `FleetLoop` decides which, `FleetKeeper` opens and closes
/// them, and this class passes calls on to them.
package final class ShardFleet: Sendable {
    typealias Receiver = @Sendable (DeliveryNews) -> Void

    struct State: Sendable {
        var home: OwnedShard
        var adopted: [Shard: AdoptedShard] = [:]
        /// The ledgers of a ceded shard until its target counts them, so that the sums of this
        /// gateway do not dip. Its dead letters are counted as they are copied.
        var absorbed: QueueStatus?
        /// nil: delivery takes no packets yet.
        var receiver: Receiver?
        /// The outlets that the home shard has announced.
        var announced: Set<Outlet> = []
        var rules: [String: DestinationRules]
        var bounds: QueueBounds?
        var watcher: (any QueueWatcher)?
        /// Another gateway has the home shard, and no other one is open yet.
        var isHomeLost = false
        /// The home shard takes no logs for a while, although the cluster can be reached.
        var isHomeFailing = false
        /// No request may begin after this moment: another gateway may be about to take the shards.
        var trustedUntil: Moment
        var figures = FleetStatus()

        var openShards: [OwnedShard] {
            let adopted = adopted.values.map(\.owned)
            return [home] + adopted.sorted { $0.shard.number < $1.shard.number }
        }

        mutating func removeAdopted(_ name: String) -> AdoptedShard? {
            guard let shard = adopted.values.first(where: { $0.owned.name == name })
            else { return nil }
            figures.unattended.insert(name)
            return adopted.removeValue(forKey: shard.owned.shard)
        }
    }

    let state: Locked<State>
    let control: ControlLog
    let messages: FleetMessages
    private let keeper = Locked<FleetKeeper?>(nil)

    init(
        _ home: OwnedShard,
        _ control: ControlLog,
        _ messages: FleetMessages,
        rules: [String: DestinationRules],
        trustedUntil: Moment
    ) {
        self.control = control
        self.messages = messages
        state = Locked(State(home: home, rules: rules, trustedUntil: trustedUntil))
    }

    func keep(by keeper: FleetKeeper) { self.keeper.withLock { $0 = keeper } }

    // MARK: - Shards

    var home: OwnedShard { state.withLock { $0.home } }
    var homeQueue: DurableQueue { home.queue }
    var adopted: some Collection<OwnedShard> { openShards.dropFirst() }

    /// Shards whose queue is open here, the home shard first, then by their numbers. A home shard
    /// that another gateway has taken is among them until its successor is open.
    var openShards: [OwnedShard] { state.withLock(\.openShards) }

    /// Those of them that no other gateway has taken.
    var owned: [OwnedShard] {
        state.withLock { state in
            state.isHomeLost ? Array(state.openShards.dropFirst()) : state.openShards
        }
    }

    /// nil: this gateway has the shard no more.
    func queue(of shard: Shard) -> DurableQueue? {
        state.withLock { state in
            guard state.home.shard == shard else { return state.adopted[shard]?.owned.queue }
            return state.isHomeLost ? nil : state.home.queue
        }
    }

    /// The last entries of this gateway's shards.
    var lastEntries: [String: UInt64] {
        var entries: [String: UInt64] = [:]
        for shard in openShards { entries[shard.name] = UInt64(max(0, shard.queue.lastEntry)) }
        return entries
    }

    func openShard(named name: String) -> OwnedShard? { openShards.first { $0.name == name } }

    /// Another gateway has the home shard, and no other one is open yet.
    var isHomeLost: Bool { state.withLock(\.isHomeLost) }

    /// Delivery must begin nothing more with the home shard. False if the shard is not the home, or
    /// was lost already.
    func loseHome(_ name: String) -> Bool {
        state.withLock { state in
            guard state.home.name == name, !state.isHomeLost else { return false }
            state.isHomeLost = true
            state.figures.unattended.insert(name)
            return true
        }
    }

    /// True while devices get no 2xx because of the home shard.
    var isHomeUnusable: Bool {
        let (isLost, home) = state.withLock { ($0.isHomeLost, $0.home) }
        return isLost || home.queue.isLogFailing
    }

    func setHomeFailing(_ fails: Bool) {
        state.withLock { $0.isHomeFailing = fails }
    }

    func adopt(_ shard: OwnedShard) {
        let new = AdoptedShard(shard)
        state.withLock { $0.adopted[shard.shard] = new }
        bringUpToDate(shard.queue)
        empty(new)
    }

    private func empty(_ shard: AdoptedShard) {
        shard.use(destinations)
        if let receiver = state.withLock(\.receiver) { deliver(shard, to: receiver) }
    }

    func deliver(_ shard: AdoptedShard, to receiver: @escaping Receiver) {
        shard.deliver(to: receiver) { [weak self] outlets in self?.retire(Set(outlets)) }
    }

    /// Forgets an adopted shard, which it returns. What delivery holds of it is of no use any more.
    @discardableResult
    func drop(_ name: String) -> OwnedShard? {
        let gone = state.withLock { $0.removeAdopted(name) }
        if let gone { retire(gone.outlets) }
        return gone?.owned
    }

    /// Lets delivery forget outlets that an adopted shard had, unless another shard has them.
    private func retire(_ outlets: Set<Outlet>) {
        let (gone, receiver) = state.withLock { state in
            let left = state.adopted.values.reduce(state.announced) { $0.union($1.outlets) }
            return (outlets.subtracting(left), state.receiver)
        }
        guard !gone.isEmpty, let receiver else { return }
        receiver(.retired(Array(gone)))
        // The home shard may have announced some of them meanwhile.
        let again = state.withLock { $0.announced.intersection(gone) }
        if !again.isEmpty { receiver(.announced(Array(again))) }
    }

    /// Forgets a shard that was ceded. What it has counted goes to its target in a moment.
    func forgetCeded(_ name: String) {
        guard let status = openShard(named: name)?.queue.status else { return }
        let gone = state.withLock { state in
            state.absorbed = status.ledgersWithoutDead
            return state.removeAdopted(name)
        }
        if let gone { retire(gone.outlets) }
    }

    /// The target counts the ledgers now, or this attempt has failed.
    func absorptionEnded() { state.withLock { $0.absorbed = nil } }

    /// Puts another home shard in the place of the present one. Returns that if it was lost;
    /// otherwise it is emptied as an adopted one, once it can be written again.
    func replaceHome(with new: OwnedShard) -> OwnedShard? {
        let (old, aside, receiver, retired) = state.withLock { state in
            let (old, retired) = (state.home, state.announced)
            let aside = state.isHomeLost ? nil : AdoptedShard(old)
            // Delivery may give packets of it back at any moment.
            if let aside {
                state.adopted[old.shard] = aside
                state.figures.replacements += 1
            }
            state.home = new
            state.isHomeLost = false
            state.announced = []
            return (old, aside, state.receiver, retired)
        }
        // Delivery's requests were the old one's.
        if !retired.isEmpty { receiver?(.retired(Array(retired))) }
        bringUpToDate(new.queue)
        if let receiver { deliverHome(new, to: receiver) }
        guard let aside else { return old }
        empty(aside)
        return nil
    }

    private func bringUpToDate(_ queue: DurableQueue) {
        let (rules, bounds, watcher) = state.withLock { ($0.rules, $0.bounds, $0.watcher) }
        queue.apply(rules, bounds)
        if let watcher { queue.tellEnds(to: watcher) }
    }

    func deliverHome(_ home: OwnedShard, to receiver: @escaping Receiver) {
        let shard = home.shard
        home.queue.connect { [weak self] news in
            switch news {
            case .packets, .recalled: receiver(news)
            case .announced, .retired: if self?.note(news, of: shard) ?? false { receiver(news) }
            }
        }
    }

    /// False if the shard is not the home shard any more.
    private func note(_ news: DeliveryNews, of shard: Shard) -> Bool {
        state.withLock { state in
            guard state.home.shard == shard else { return false }
            switch news {
            case .announced(let outlets): state.announced.formUnion(outlets)
            case .retired(let outlets): state.announced.subtract(outlets)
            case .packets, .recalled: break
            }
            return true
        }
    }

    // MARK: - For the loop

    func trust(until moment: Moment) { state.withLock { $0.trustedUntil = moment } }

    var isTrusted: Bool { state.withLock { Moment.now < $0.trustedUntil } }

    /// Notes why an orphan is not adopted. True if that is new.
    func refuse(_ orphan: String, _ reason: String) -> Bool {
        state.withLock { state in
            state.figures.refusedOrphans.updateValue(reason, forKey: orphan) != reason
        }
    }

    func change(_ body: (inout FleetStatus) -> Void) { state.withLock { body(&$0.figures) } }

    var destinations: Set<String> { state.withLock { Set($0.rules.keys) } }
}

// MARK: - As a whole

extension ShardFleet: GatewayQueue {
    package var status: QueueStatus {
        let shards = openShards
        var (absorbed, fleet) = state.withLock { ($0.absorbed, $0.figures) }
        var status = shards[0].queue.status
        fleet.shards = [FleetStatus.Shard(shards[0].name, .home, status)]
        for shard in shards.dropFirst() {
            let its = shard.queue.status
            fleet.shards.append(FleetStatus.Shard(shard.name, .adopted, its))
            status.add(its)
        }
        if let absorbed { status.add(absorbed) }
        fleet.messages = messages.figures
        fleet.messages.problem = messages.problem
        status.repeats.repeated += fleet.messages.recognisedRepeats
        status.fleet = fleet
        return status
    }

    package func apply(_ rules: [String: DestinationRules], _ bounds: QueueBounds?) {
        state.withLock { state in
            state.rules = rules
            state.bounds = bounds ?? state.bounds
        }
        for shard in openShards { shard.queue.apply(rules, bounds) }
        for shard in state.withLock({ $0.adopted.values }) { shard.use(Set(rules.keys)) }
    }

    package func tellEnds(to watcher: any QueueWatcher) {
        state.withLock { $0.watcher = watcher }
        for shard in openShards { shard.queue.tellEnds(to: watcher) }
    }

    package var decisions: any Decisions { control }

    package var others: (any OtherGateways)? { messages }

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

    package func append(_ batches: [Batch], of request: any AppendingRequest) {
        guard let identity = request.identity else { return homeQueue.append(batches, of: request) }
        if let first = messages.first(of: identity) {
            let outcome = AppendOutcome.repeated(receipt: first.receipt, logs: first.logs)
            guard let thread = request.thread else { return request.decided(outcome) }
            return thread.run { request.decided(outcome) }
        }
        let told = CallingRequest(
            identity,
            sender: request.sender,
            tally: request.tally,
            on: request.thread
        ) { [messages] outcome in
            if outcome == .stored { messages.tell(identity) }
            request.decided(outcome)
        }
        homeQueue.append(batches, of: told)
    }

    package func count(_ tally: IntakeTally) { homeQueue.count(tally) }

    package var failsWhileOthersWork: Bool { state.withLock(\.isHomeFailing) }
}
