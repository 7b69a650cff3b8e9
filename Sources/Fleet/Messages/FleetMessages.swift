import CommitLog
import Queue
import Synchronization
import System

/// Messages of this gateway and the others: stored requests, so that all recognise repetitions, the
/// last entries of shards, and questions of operators (`FleetMessages+Questions`).
///
/// No promise depends on them: a lost message costs a repetition stored twice, or an answer that
/// says who is missing.
final class FleetMessages: Sendable {
    /// Requests are told together, at most so often while there are ten gateways. A device repeats
    /// one later than that.
    private static let tellEvery = Duration.milliseconds(10)
    /// A gateway gets about so many messages in that time: in a larger fleet each tells less often.
    private static let gatewaysTelling = 10
    /// How far the logs go is told with requests, or so often. What was stored after that can be
    /// missing from a log without anyone noticing it.
    private static let entriesEvery = Duration.milliseconds(100)
    /// Shards of others whose last entries are kept until they are taken.
    private static let toldEntriesMax = 4096
    /// What waits to be told while the engine does not take it. The rest is not told.
    private static let untoldMax = 20_000
    /// Replies to calls and refusals that wait to be sent. Further ones are dropped.
    private static let repliesMax = 64

    fileprivate struct Reply: Sendable {
        let content: FleetMessage.Content
        let node: String
    }

    struct State: Sendable {
        /// nil: the key of the cluster is not known yet.
        var seal: MessageSeal?
        var repeats: ToldRepeats
        fileprivate var untold: [BatchIdentity] = []
        fileprivate var replies: [Reply] = []
        var questions = QuestionBook()
        /// How many gateways there are.
        fileprivate var size = 1
        /// Gives the last entries of this gateway's shards; nil: it has no shards yet.
        fileprivate var entries: (@Sendable () -> [String: UInt64])?
        /// The last entries of other gateways' shards, until the fleet's loop takes them.
        fileprivate var toldEntries: [String: UInt64] = [:]
        var figures = FleetStatus.Messages()
    }

    private let node: String
    private let life: String
    private let keyFingerprint: String?
    private let repeatsAgeMax: Duration
    private let messenger: any ClusterMessenger
    let state: Locked<State>
    private let parts = Locked(MessageParts())
    private let isStopping = Atomic<Bool>(false)
    /// The gateway has its name, and answers those who call it.
    private let hasName = Atomic<Bool>(false)
    private let wake: WakeUp
    private let worker = Locked<Worker?>(nil)

    init(
        _ messenger: any ClusterMessenger,
        node: String,
        life: String,
        keyFingerprint: String?,
        repeatsMax: Int,
        repeatsAgeMax: Duration
    ) throws(SystemError) {
        self.node = node
        self.life = life
        self.keyFingerprint = keyFingerprint
        self.repeatsAgeMax = repeatsAgeMax
        self.messenger = messenger
        wake = try WakeUp()
        let repeats = ToldRepeats(atMost: repeatsMax, ageMax: repeatsAgeMax)
        state = Locked(State(repeats: repeats))
    }

    func start() throws(CommitLogError) {
        try messenger.listen { [weak self] part in self?.take(part) }
        let started = try CommitLogError.onSystem { () throws(SystemError) in
            try Worker("telling") { [self] in run() }
        }
        worker.withLock { $0 = started }
    }

    func use(key: [UInt8]) {
        let seal = MessageSeal(key, keyFingerprint: keyFingerprint)
        state.withLock { state in
            if let seal { state.seal = seal }
        }
    }

    /// The cluster's key; nil: it is not known yet.
    var key: [UInt8]? { state.withLock(\.seal)?.clusterKey }

    /// From now on this gateway has its name. One that waits for it must not keep others waiting.
    func takeName() { hasName.store(true, ordering: .releasing) }

    func stop() {
        stopAsking()
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        worker.withLock { $0.take() }?.join()
        messenger.stop()
        // They may hold the queue, which holds this.
        state.withLock { state in
            state.questions.answerer = nil
            state.entries = nil
        }
    }

    var figures: FleetStatus.Messages {
        state.withLock { state in
            var figures = state.figures
            figures.knownRepeats = state.repeats.count
            return figures
        }
    }

    /// Why the others cannot be heard; nil: they can.
    var problem: String? { messenger.problem }

    /// The more gateways there are, the less often each of them tells.
    func use(size: Int) { state.withLock { $0.size = size } }

    // MARK: - Last entries

    func tellEntries(_ entries: @escaping @Sendable () -> [String: UInt64]) {
        state.withLock { $0.entries = entries }
        wake.signal()
    }

    /// Takes the last entries of shards that others have told since the last call.
    func takeToldEntries() -> [String: UInt64] {
        state.withLock { state in
            defer { state.toldEntries = [:] }
            return state.toldEntries
        }
    }

    // MARK: - Repeats

    /// The request as another gateway has answered it.
    func first(of identity: BatchIdentity) -> BatchIdentity? {
        state.withLock { state in
            let first = state.repeats.first(of: identity.digest, .now)
            if first != nil { state.figures.recognisedRepeats += 1 }
            return first
        }
    }

    /// Tells the others of a request that is durable.
    func tell(_ identity: BatchIdentity) {
        let isFirst = state.withLock { state in
            guard state.untold.count < Self.untoldMax else {
                state.figures.untoldRepeats += 1
                return false
            }
            state.untold.append(identity)
            return state.untold.count == 1
        }
        if isFirst { wake.signal() }
    }

    private func run() {
        var told: [String: UInt64] = [:]
        var nextTell = Moment.now
        while !isStopping.load(ordering: .acquiring) {
            wake.wait(timeout: pause(before: nextTell))
            let isDue = nextTell <= .now
            let (untold, replies, entries) = state.withLock { state in
                defer {
                    state.replies = []
                    if isDue { state.untold = [] }
                }
                return (isDue ? state.untold : [], state.replies, state.entries)
            }
            for reply in replies {
                _ = send(reply.content, to: reply.node)
                if case .answer = reply.content { state.withLock { $0.questions.answered() } }
            }
            let news = entries?() ?? [:]
            guard isDue, !untold.isEmpty || news != told else { continue }
            for start in stride(from: 0, to: max(untold.count, 1), by: FleetMessage.repeatsMax) {
                let some = Array(untold[start...].prefix(FleetMessage.repeatsMax))
                if send(.repeats(some, entries: news, sentAt: .now), to: nil) {
                    told = news
                } else {
                    state.withLock { $0.figures.untoldRepeats += some.count }
                }
            }
            // What comes meanwhile goes together.
            let factor = Double(max(state.withLock(\.size), Self.gatewaysTelling))
            nextTell = .now + Self.tellEvery * (factor / Double(Self.gatewaysTelling))
        }
    }

    /// How long there is nothing to tell but replies; nil: until it is signalled.
    private func pause(before next: Moment) -> Duration? {
        let (hasUntold, hasEntries) = state.withLock { (!$0.untold.isEmpty, $0.entries != nil) }
        let pause = max(next - .now, hasUntold ? .zero : Self.entriesEvery)
        return hasUntold || hasEntries ? pause : nil
    }

    // MARK: - Sending and taking

    /// Sends an answer on this class's thread: the engine's and the queue's may not wait.
    func reply(_ content: FleetMessage.Content, to node: String) {
        let isTaken = state.withLock { state in
            switch content {
            // Answers have a bound of their own.
            case .answer: break
            default: guard state.replies.count < Self.repliesMax else { return false }
            }
            state.replies.append(Reply(content: content, node: node))
            return true
        }
        if isTaken { wake.signal() }
    }

    func send(_ content: FleetMessage.Content, to node: String?) -> Bool {
        guard let seal = state.withLock(\.seal) else { return false }
        let message = seal.seal(FleetMessage(life: life, node: self.node, content), to: node)
        guard message.count <= MessageParts.messageBytesMax else { return false }
        do throws(CommitLogError) {
            try messenger.send(MessageParts.cut(message, to: messenger.partBytesMax), to: node)
            return true
        } catch {
            return false
        }
    }

    /// An older message that comes again changes nothing.
    private func note(_ entries: [String: UInt64]) {
        state.withLock { state in
            for (shard, entry) in entries {
                let known = state.toldEntries[shard]
                guard known != nil || state.toldEntries.count < Self.toldEntriesMax else { return }
                state.toldEntries[shard] = max(known ?? 0, entry)
            }
        }
    }

    private func take(_ part: [UInt8]) {
        let whole = parts.withLock { $0.add(part, .now) }
        guard let whole, let seal = state.withLock(\.seal),
            let message = seal.open(whole, at: node),
            message.life != life
        else { return }
        switch message.content {
        case .repeats(let repeats, let entries, let time):
            note(entries)
            let age = max(.zero, WallTime.now - time)
            guard age < repeatsAgeMax, time - .now < repeatsAgeMax else { return }
            // A message that comes again makes no request younger.
            let told = Moment.now + (.zero - age)
            // Requests of devices need the lock between them.
            for one in repeats { state.withLock { $0.repeats.add(one, toldAt: told) } }
        case .call(let id):
            guard hasName.load(ordering: .acquiring) else { return }
            reply(.here(id, challenge: state.withLock { $0.questions.challenge }), to: message.node)
        case .question(let id, let challenge, let question):
            answer(id, challenge, question, to: message.node)
        case .answer(let id, let answer): answered(id, answer, by: message.node)
        case .here(let id, let challenge):
            heard(id, challenge, life: message.life, from: message.node)
        case .busy(let id): answered(id, nil, by: message.node)
        }
    }
}
