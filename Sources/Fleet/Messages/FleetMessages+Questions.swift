import Queue
import System

/// Questions that this gateway has asked, and those that it answers.
struct QuestionBook: Sendable {
    private static let askedMax = 64
    private static let answeringMax = 16
    /// Questions under one challenge.
    private static let seenMax = 4096

    private struct Asked: Sendable {
        let isCall: Bool
        var missing: Set<String>
        /// Of nodes that are there and wait for the question.
        var challenges: [String: UInt64] = [:]
        /// The life that each node had when it was first heard.
        var lives: [String: String] = [:]
        var answers: [String: [UInt8]] = [:]
        let wake: WakeUp
    }

    enum Arrival {
        case answer(QuestionAnswerer)
        case busy
        /// It came before, or it was sent to another life of this gateway.
        case ignored
    }

    /// Challenges change before seen questions are forgotten: none is answered twice.
    private struct Period: Sendable {
        let challenge = UInt64.random(in: 0...UInt64.max)
        var seen: Set<UInt64> = []
    }

    private var asked: [UInt64: Asked] = [:]
    /// No caller waits any more: the gateway stops.
    private var isClosed = false
    private var answering = 0
    /// The last one is told to those who call. The one before it still counts.
    private var periods = [Period()]
    /// nil: this gateway answers nothing yet.
    var answerer: QuestionAnswerer?

    var challenge: UInt64 { periods[periods.count - 1].challenge }

    /// False: too many questions wait for their answers.
    mutating func ask(_ id: UInt64, _ nodes: Set<String>, isCall: Bool, _ wake: WakeUp) -> Bool {
        guard !isClosed, asked.count < Self.askedMax else { return false }
        asked[id] = Asked(isCall: isCall, missing: nodes, wake: wake)
        return true
    }

    /// A node answers the call. Returns what wakes the thread that asked.
    mutating func hear(
        _ id: UInt64,
        _ challenge: UInt64,
        life: String,
        from node: String
    ) -> WakeUp? {
        guard let question = asked[id], question.missing.contains(node) else { return nil }
        if question.isCall { return add([], to: id, by: node) }
        guard question.lives[node, default: life] == life else {
            // It has restarted, and may have acted on the question before.
            asked[id]?.challenges[node] = nil
            return add(nil, to: id, by: node)
        }
        asked[id]?.lives[node] = life
        asked[id]?.challenges[node] = challenge
        return question.wake
    }

    /// The nodes that have answered the call since the last time, with their challenges.
    mutating func takeChallenges(_ id: UInt64) -> [String: UInt64] {
        defer { asked[id]?.challenges = [:] }
        return asked[id]?.challenges ?? [:]
    }

    func missing(_ id: UInt64) -> Set<String> { isClosed ? [] : asked[id]?.missing ?? [] }

    /// Ends all questions. Returns what wakes those who asked.
    mutating func close() -> [WakeUp] {
        isClosed = true
        return asked.values.map(\.wake)
    }

    /// Adds the answer of a node. `answer` is nil if the node refuses to answer. Returns what wakes
    /// the thread that asked, or nil if no thread waits for this node.
    mutating func add(_ answer: [UInt8]?, to id: UInt64, by node: String) -> WakeUp? {
        guard asked[id]?.missing.remove(node) != nil else { return nil }
        asked[id]?.answers[node] = answer
        return asked[id]?.wake
    }

    mutating func end(_ id: UInt64) -> [String: [UInt8]] {
        asked.removeValue(forKey: id)?.answers ?? [:]
    }

    /// Takes a question, which may come several times. It is answered or refused once.
    mutating func admit(_ id: UInt64, challenge: UInt64) -> Arrival {
        guard let index = periods.firstIndex(where: { $0.challenge == challenge }),
            !periods.contains(where: { $0.seen.contains(id) }),
            periods[index].seen.count < 2 * Self.seenMax,
            periods[index].seen.insert(id).inserted
        else { return .ignored }
        if index == periods.count - 1, periods[index].seen.count == Self.seenMax {
            periods = [periods[index], Period()]
        }
        guard answering < Self.answeringMax, let answerer else { return .busy }
        answering += 1
        return .answer(answerer)
    }

    mutating func answered() { answering -= 1 }
}

extension FleetMessages {
    /// How long the engine may take. A gateway that has just come cannot be heard at once.
    private static let sendingTime = Duration.seconds(2)
    private static let sendAgain = Duration.milliseconds(20)
    /// Neither may hear the other at first.
    private static let callAgain = Duration.milliseconds(100)
    /// A message may be lost. A question that has come is not answered a second time.
    private static let askAgain = Duration.seconds(1)
    /// A gateway that is not there must not use up the time of a question with more patience.
    private static let askUncalled = Duration.seconds(2)

    func answered(_ id: UInt64, _ answer: [UInt8]?, by node: String) {
        state.withLock { $0.questions.add(answer, to: id, by: node) }?.signal()
    }

    func heard(_ id: UInt64, _ challenge: UInt64, life: String, from node: String) {
        state.withLock { $0.questions.hear(id, challenge, life: life, from: node) }?.signal()
    }

    func answer(_ id: UInt64, _ challenge: UInt64, _ question: [UInt8], to node: String) {
        switch state.withLock({ $0.questions.admit(id, challenge: challenge) }) {
        case .answer(let answerer):
            answerer(question) { [weak self] answer in
                self?.reply(.answer(id, answer), to: node)
            }
        case .busy: reply(.busy(id), to: node)
        case .ignored: break
        }
    }

    func call(_ nodes: Set<String>, atMost patience: Duration = .milliseconds(500)) -> Set<String> {
        Set(exchange(with: nodes, question: nil, atMost: patience).keys)
    }

    /// Calls the nodes, and sends each that answers the question with its challenge.
    private func exchange(
        with nodes: Set<String>,
        question: [UInt8]?,
        atMost patience: Duration
    ) -> [String: [UInt8]] {
        guard !nodes.isEmpty, let wake = try? WakeUp() else { return [:] }
        let id = UInt64.random(in: 0...UInt64.max)
        let isAsked = state.withLock {
            $0.questions.ask(id, nodes, isCall: question == nil, wake)
        }
        guard isAsked else { return [:] }
        var missing = send(.call(id), toAllOf: nodes, wake, until: .now + Self.sendingTime)
        var silent = missing
        var now = Moment.now
        let (deadline, callsUntil) = (now + patience, now + Self.askUncalled)
        var next = now + Self.callAgain
        while now < deadline {
            let (left, challenges) = state.withLock {
                ($0.questions.missing(id), $0.questions.takeChallenges(id))
            }
            silent.subtract(challenges.keys)
            for (node, challenge) in challenges {
                _ = send(.question(id, challenge: challenge, question ?? []), to: node)
            }
            missing.formIntersection(left)
            silent.formIntersection(left)
            if now >= callsUntil, patience > Self.askUncalled { missing.subtract(silent) }
            guard !missing.isEmpty else { break }
            wake.wait(timeout: min(deadline, next) - now)
            now = .now
            guard now >= next else { continue }
            // One that was asked answers the call again, and is asked again.
            let called = silent.isEmpty ? missing : silent
            for node in called where .now < deadline { _ = send(.call(id), to: node) }
            next = .now + (silent.isEmpty ? Self.askAgain : Self.callAgain)
        }
        return state.withLock { $0.questions.end(id) }
    }

    /// Returns those to whom it was sent in time.
    private func send(
        _ content: FleetMessage.Content,
        toAllOf nodes: Set<String>,
        _ wake: WakeUp,
        until deadline: Moment
    ) -> Set<String> {
        nodes.filter { node in
            while .now < deadline {
                if send(content, to: node) { return true }
                wake.wait(timeout: Self.sendAgain)
            }
            return false
        }
    }
}

extension FleetMessages: OtherGateways {
    func ask(
        _ nodes: Set<String>,
        _ question: [UInt8],
        atMost patience: Duration
    ) -> [String: [UInt8]] {
        exchange(with: nodes, question: question, atMost: patience)
    }

    func stopAsking() {
        for wake in state.withLock({ $0.questions.close() }) { wake.signal() }
    }

    func answerQuestions(by answerer: @escaping QuestionAnswerer) {
        state.withLock { $0.questions.answerer = answerer }
    }
}
