package import CommitLog
package import System

/// A cluster in memory, as one gateway sees it. `view` is what another gateway sees.
package final class MemoryCluster: ClusterEngine {
    fileprivate struct Shared {
        var logs: [String: MemoryCommitLog] = [:]
        /// Names of shards that were removed.
        var removed: Set<String> = []
        /// Names of shards that lists leave out.
        var unlisted: Set<String> = []
        var registers: [String: Register] = [:]
        var revision: UInt64 = 0
        var messengers: [MemoryMessenger] = []
        var figures = Figures()
    }

    /// What all gateways have asked of the servers.
    package struct Figures: Sendable {
        /// Logs whose leaders were asked by lists.
        package fileprivate(set) var listed = 0
        package fileprivate(set) var registersRead = 0
        package fileprivate(set) var registersSet = 0
        package fileprivate(set) var confirmations = 0
        /// Messages, by each gateway that got them.
        package fileprivate(set) var delivered = 0
    }

    package var figures: Figures { shared.withLock(\.figures) }

    fileprivate struct State {
        var isOpen = false
        var isReachable = true
        var refusesRemovals = false
        var durability = LogDurability(copies: 3, isSynced: true)
        /// The longest time of a call's way there, and of its way back.
        var distance = Duration.zero
        /// What the next calls throw.
        var failures: [CommitLogError] = []
    }

    fileprivate let shared: Locked<Shared>
    private let state = Locked(State())

    private init(_ shared: Locked<Shared>) {
        self.shared = shared
    }

    package convenience init() {
        self.init(Locked(Shared()))
    }

    /// The same cluster for another gateway, with a connection of its own.
    package func view() -> MemoryCluster { MemoryCluster(shared) }

    // MARK: - What tests do to it

    /// False: all calls of this gateway fail, also those of the logs that it was given.
    package var isReachable: Bool {
        get { state.withLock(\.isReachable) }
        set { state.withLock { $0.isReachable = newValue } }
    }

    /// What this gateway's logs survive.
    package var durability: LogDurability {
        get { state.withLock(\.durability) }
        set { state.withLock { $0.durability = newValue } }
    }

    /// Each call takes up to twice this, at random.
    package var distance: Duration {
        get { state.withLock(\.distance) }
        set { state.withLock { $0.distance = newValue } }
    }

    fileprivate func travel() {
        let distance = distance
        guard distance > .zero, let wake = try? WakeUp() else { return }
        wake.wait(timeout: distance * Double.random(in: 0...1))
    }

    /// Lists have all but these shards, as while brokers elect.
    package func leaveOut(_ shards: Set<String>) { shared.withLock { $0.unlisted = shards } }

    /// True: this gateway cannot remove logs.
    package var refusesRemovals: Bool {
        get { state.withLock(\.refusesRemovals) }
        set { state.withLock { $0.refusesRemovals = newValue } }
    }

    /// So many of this gateway's next calls fail; an append of a log is no such call.
    package func fail(_ count: Int = 1, _ kind: CommitLogError.Kind = .unreachable) {
        let error = CommitLogError(kind, "a test wants this call to fail")
        state.withLock { $0.failures += Array(repeating: error, count: count) }
    }

    /// What all gateways share of a shard, to plan its faults or look at its entries; nil: it has
    /// no log.
    package func memory(of shard: String) -> MemoryCommitLog? {
        shared.withLock { $0.logs[shard] }
    }

    // MARK: - The cluster

    /// Throws what keeps this gateway from a call.
    fileprivate func reach() throws(CommitLogError) {
        let error: CommitLogError? = state.withLock { state in
            guard state.isReachable else { return Self.unreachable }
            return state.failures.isEmpty ? nil : state.failures.removeFirst()
        }
        if let error { throw error }
    }

    fileprivate static let unreachable = CommitLogError(
        .unreachable,
        "the engine cannot be reached"
    )

    /// The same for calls that work after `open` only.
    fileprivate func reachOpened() throws(CommitLogError) {
        try reach()
        precondition(state.withLock(\.isOpen), "the cluster was not opened")
    }

    package func open() throws(CommitLogError) {
        try reach()
        state.withLock { $0.isOpen = true }
    }

    package func check() throws(CommitLogError) -> String {
        try reach()
        return "memory"
    }

    package func shards() throws(CommitLogError) -> [ListedShard] {
        try reachOpened()
        return list { _ in true }
    }

    package func shards(named names: Set<String>) throws(CommitLogError) -> [ListedShard] {
        try reachOpened()
        return list(names.contains)
    }

    private func list(_ isAsked: (String) -> Bool) -> [ListedShard] {
        shared.withLock { shared in
            let asked = shared.logs.filter { name, _ in
                name != Self.controlName && !shared.unlisted.contains(name) && isAsked(name)
            }
            shared.figures.listed += asked.count
            return asked.map { name, log in ListedShard(name: name, last: log.last) }
        }
    }

    private static let controlName = "control"

    package var control: any EngineLog { log(of: Self.controlName) }

    package func log(of shard: String) -> any EngineLog { MemoryShardLog(shard, of: self) }

    package func remove(_ shard: String) throws(CommitLogError) {
        try reachOpened()
        guard !refusesRemovals else { throw CommitLogError(.unreachable, "no answer came") }
        shared.withLock { shared in
            guard shared.logs.removeValue(forKey: shard) != nil else { return }
            shared.removed.insert(shard)
        }
    }

    package func confirm() throws(CommitLogError) {
        try reachOpened()
        shared.withLock { $0.figures.confirmations += 1 }
    }

    package func changeServer() {}

    package func messenger(
        for node: String,
        _ journal: Journal
    ) -> any ClusterMessenger {
        MemoryMessenger(node, of: self)
    }

    package func registers() throws(CommitLogError) -> [String: Register] {
        try reachOpened()
        travel()
        defer { travel() }
        return shared.withLock { shared in
            shared.figures.registersRead += shared.registers.count
            return shared.registers
        }
    }

    package func set(_ register: String, to value: [UInt8]?) throws(CommitLogError) {
        try Register.check(register, value)
        try reachOpened()
        travel()
        defer { travel() }
        shared.withLock { shared in
            shared.revision += 1
            shared.figures.registersSet += 1
            shared.registers[register] = value.map {
                Register(value: $0, revision: shared.revision)
            }
        }
    }
}

/// The log of a shard for one gateway.
private final class MemoryShardLog: EngineLog {
    private let shard: String
    private let cluster: MemoryCluster

    init(_ shard: String, of cluster: MemoryCluster) {
        self.shard = shard
        self.cluster = cluster
    }

    var name: String { "memory \(shard)" }
    var bytesMax: Int? { nil }

    func open(makes: Bool) throws(CommitLogError) {
        try cluster.reachOpened()
        try cluster.shared.withLock { shared throws(CommitLogError) in
            guard shared.logs[shard] == nil else { return }
            guard makes else {
                throw CommitLogError(.missing, "there is no log of the shard \(shard)")
            }
            precondition(!shared.removed.contains(shard), "the name \(shard) was used before")
            shared.logs[shard] = MemoryCommitLog()
        }
    }

    func append(
        _ parts: [[UInt8]],
        after last: UInt64,
        id: AppendID,
        until deadline: Moment
    ) -> AppendAnswer {
        guard cluster.isReachable else {
            return .unreachable(MemoryCluster.unreachable.description)
        }
        guard let log = cluster.memory(of: shard) else { return .unknown("the log is gone") }
        return log.append(parts, after: last, id: id, until: deadline)
    }

    func read(from number: UInt64, atMost bytes: Int) throws(CommitLogError) -> [NumberedEntry] {
        cluster.travel()
        return try log().read(from: number, atMost: bytes)
    }

    func trim(before number: UInt64) throws(CommitLogError) -> Bool {
        try log().trim(before: number)
    }

    private func log() throws(CommitLogError) -> MemoryCommitLog {
        try cluster.reachOpened()
        guard let log = cluster.memory(of: shard) else {
            throw CommitLogError(.damaged, "the log of the shard \(shard) is gone")
        }
        return log
    }
}

/// Messages of one gateway, which arrive at once.
private final class MemoryMessenger: ClusterMessenger {
    /// Small, so that messages have several.
    let partBytesMax = 1024
    private let node: String
    private let cluster: MemoryCluster
    private let receiver = Locked<(@Sendable ([UInt8]) -> Void)?>(nil)

    init(_ node: String, of cluster: MemoryCluster) {
        self.node = node
        self.cluster = cluster
    }

    var problem: String? { cluster.isReachable ? nil : "the engine cannot be reached" }

    func listen(_ receiver: @escaping @Sendable ([UInt8]) -> Void) {
        self.receiver.withLock { $0 = receiver }
        cluster.shared.withLock { $0.messengers.append(self) }
    }

    func send(_ parts: [[UInt8]], to node: String?) throws(CommitLogError) {
        guard cluster.isReachable else { throw MemoryCluster.unreachable }
        let all = cluster.shared.withLock(\.messengers)
        for other in all where other.cluster.isReachable && node ?? other.node == other.node {
            let receiver = other.receiver.withLock(\.self)
            cluster.shared.withLock { $0.figures.delivered += 1 }
            for part in parts { receiver?(part) }
        }
    }

    func stop() {
        receiver.withLock { $0 = nil }
        cluster.shared.withLock { $0.messengers.removeAll { $0 === self } }
    }
}
