import CommitLog
import Queue
import Synchronization
import System

/// What this gateway tells the others and hears from them: requests that are stored, so that their repetitions are
/// recognised everywhere, and questions of operators.
///
/// Nothing that a device was promised depends on it: a message that is lost costs a repetition stored twice, or an answer
/// that says who is missing.
final class FleetMessages: Sendable {
    /// How long others may take to answer.
    static let patience = Duration.seconds(2)
    /// A gateway that lives answers a call at once.
    private static let callPatience = Duration.milliseconds(500)
    /// Requests are told together, at most so often. A device repeats one later than that.
    private static let tellEvery = Duration.milliseconds(10)
    /// What waits to be told while the engine does not take it. The rest is not told.
    private static let untoldMax = 20_000
    private static let questionsMax = 16
    private static let askedMax = 64
    /// Questions that are known to have come. One that comes again was not sent by a gateway.
    private static let seenMax = 4096

    private struct Asked: Sendable {
        var missing: Set<String>
        var answers: [String: [UInt8]] = [:]
        let wake: WakeUp
    }

    private struct State: Sendable {
        var repeats: ToldRepeats
        var untold: [BatchIdentity] = []
        var asked: [UInt64: Asked] = [:]
        var answering = 0
        /// nil: the key of the cluster is not known yet.
        var seal: MessageSeal?
        var seen: Set<UInt64> = []
        var seenInOrder: [UInt64] = []
        var answer: (@Sendable ([UInt8], @escaping @Sendable ([UInt8]) -> Void) -> Void)?
        var figures = FleetStatus.Messages()
    }

    private let node: String
    private let life: String
    private let keyMark: String?
    private let messenger: any ClusterMessenger
    private let state: Locked<State>
    private let parts = Locked(MessageParts())
    private let isStopping = Atomic<Bool>(false)
    /// The gateway has its name, and answers those who call it.
    private let hasName = Atomic<Bool>(false)
    private let wake: WakeUp
    /// Ends a pause early.
    private let ending: WakeUp
    private let worker = Locked<Worker?>(nil)

    init(
        _ messenger: any ClusterMessenger,
        node: String,
        life: String,
        keyMark: String?,
        repeatsMax: Int,
        repeatsAgeMax: Duration
    ) throws(SystemError) {
        self.node = node
        self.life = life
        self.keyMark = keyMark
        self.messenger = messenger
        wake = try WakeUp()
        ending = try WakeUp()
        let repeats = ToldRepeats(atMost: repeatsMax, ageMax: repeatsAgeMax)
        state = Locked(State(repeats: repeats))
    }

    func start() throws(SystemError) {
        do throws(CommitLogError) {
            try messenger.listen { [weak self] part in self?.take(part) }
        } catch {
            throw SystemError(call: "\(error)", code: 0)
        }
        let started = try Worker("telling") { [self] in run() }
        worker.withLock { $0 = started }
    }

    /// Uses the key that the register has.
    func use(key: [UInt8]) {
        let seal = MessageSeal(key, keyMark: keyMark)
        state.withLock { state in
            if let seal { state.seal = seal }
        }
    }

    func stop() {
        isStopping.store(true, ordering: .releasing)
        wake.signal()
        ending.signal()
        worker.withLock { $0.take() }?.join()
        messenger.stop()
        // It may hold those who hold this.
        state.withLock { $0.answer = nil }
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
        while !isStopping.load(ordering: .acquiring) {
            wake.wait(timeout: nil)
            let untold = state.withLock { state in
                defer { state.untold = [] }
                return state.untold
            }
            guard !untold.isEmpty else { continue }
            for start in stride(from: 0, to: untold.count, by: FleetMessage.repeatsMax) {
                let some = Array(untold[start...].prefix(FleetMessage.repeatsMax))
                guard !send(.repeats(some), to: nil) else { continue }
                state.withLock { $0.figures.untoldRepeats += some.count }
            }
            // What comes meanwhile goes together.
            ending.wait(timeout: Self.tellEvery)
        }
    }

    // MARK: - Sending and taking

    private func send(_ content: FleetMessage.Content, to node: String?) -> Bool {
        guard let seal = state.withLock(\.seal) else { return false }
        let message = seal.seal(FleetMessage(life: life, node: self.node, content))
        guard message.count <= MessageParts.messageBytesMax else { return false }
        do throws(CommitLogError) {
            try messenger.send(MessageParts.cut(message, to: messenger.partBytesMax), to: node)
            return true
        } catch {
            return false
        }
    }

    /// Called on the engine's thread.
    private func take(_ part: [UInt8]) {
        let whole = parts.withLock { $0.add(part, .now) }
        guard let whole, let seal = state.withLock(\.seal), let message = seal.open(whole),
            message.life != life
        else { return }
        switch message.content {
        case .repeats(let repeats):
            let now = Moment.now
            state.withLock { state in
                for one in repeats { state.repeats.add(one, now) }
            }
        case .call(let id):
            guard hasName.load(ordering: .acquiring) else { return }
            _ = send(.here(id), to: message.node)
        case .question(let id, let question):
            guard isNew(id) else { return }
            answer(id, question, to: message.node)
        case .answer(let id, let answer): answered(id, answer, by: message.node)
        case .here(let id): answered(id, [], by: message.node)
        }
    }

    private func answered(_ id: UInt64, _ answer: [UInt8], by node: String) {
        let wake = state.withLock { state -> WakeUp? in
            guard state.asked[id]?.missing.remove(node) != nil else { return nil }
            state.asked[id]?.answers[node] = answer
            return state.asked[id]?.wake
        }
        wake?.signal()
    }

    private func isNew(_ question: UInt64) -> Bool {
        state.withLock { state in
            guard state.seen.insert(question).inserted else { return false }
            state.seenInOrder.append(question)
            if state.seenInOrder.count >= 2 * Self.seenMax {
                state.seen.subtract(state.seenInOrder.prefix(Self.seenMax))
                state.seenInOrder.removeFirst(Self.seenMax)
            }
            return true
        }
    }

    private func answer(_ id: UInt64, _ question: [UInt8], to node: String) {
        let answer = state.withLock { state in
            guard state.answering < Self.questionsMax, let answer = state.answer else {
                return nil as (@Sendable ([UInt8], @escaping @Sendable ([UInt8]) -> Void) -> Void)?
            }
            state.answering += 1
            return answer
        }
        answer?(question) { [weak self] found in
            guard let self else { return }
            state.withLock { $0.answering -= 1 }
            _ = send(.answer(id, found), to: node)
        }
    }
}

extension FleetMessages: OtherGateways {
    func answerQuestions(
        by answer: @escaping @Sendable ([UInt8], @escaping @Sendable ([UInt8]) -> Void) -> Void
    ) {
        state.withLock { $0.answer = answer }
    }

    func ask(_ nodes: Set<String>, _ question: [UInt8]) -> [String: [UInt8]] {
        ask(nodes, question, atMost: Self.patience)
    }

    func ask(
        _ nodes: Set<String>,
        _ question: [UInt8],
        atMost patience: Duration
    ) -> [String: [UInt8]] {
        ask(nodes, atMost: patience) { .question($0, question) }
    }

    /// From now on this gateway has its name. One that waits for it must not keep others waiting.
    func takeName() { hasName.store(true, ordering: .releasing) }

    /// Those of the nodes that have a gateway at this moment, another one than this.
    func call(_ nodes: Set<String>) -> Set<String> {
        Set(ask(nodes, atMost: Self.callPatience) { .call($0) }.keys)
    }

    private func ask(
        _ nodes: Set<String>,
        atMost patience: Duration,
        _ content: (UInt64) -> FleetMessage.Content
    ) -> [String: [UInt8]] {
        guard !nodes.isEmpty, let wake = try? WakeUp() else { return [:] }
        let id = UInt64.random(in: 0...UInt64.max)
        let mayAsk = state.withLock { state in
            guard state.asked.count < Self.askedMax else { return false }
            state.asked[id] = Asked(missing: nodes, wake: wake)
            return true
        }
        guard mayAsk else { return [:] }
        let deadline = Moment.now + patience
        for node in nodes {
            // A gateway that has just come may not be heard yet.
            while !send(content(id), to: node), .now < deadline {
                wake.wait(timeout: .milliseconds(20))
            }
        }
        while .now < deadline, state.withLock({ $0.asked[id]?.missing.isEmpty == false }) {
            wake.wait(timeout: deadline - .now)
        }
        return state.withLock { $0.asked.removeValue(forKey: id)?.answers ?? [:] }
    }
}
