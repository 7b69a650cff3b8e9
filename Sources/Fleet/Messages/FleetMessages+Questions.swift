import Queue
import System

/// Questions that this gateway has asked, and those that it answers.
struct QuestionBook: Sendable {
    private static let askedMax = 64
    private static let answeringMax = 16
    /// Questions that are known to have come.
    private static let seenMax = 4096

    private struct Asked: Sendable {
        var missing: Set<String>
        var answers: [String: [UInt8]] = [:]
        let wake: WakeUp
    }

    enum Arrival {
        case answer(QuestionAnswerer)
        case busy
        /// It came before.
        case known
    }

    private var asked: [UInt64: Asked] = [:]
    /// Nobody waits for answers any more.
    private var isClosed = false
    private var answering = 0
    private var seen: Set<UInt64> = []
    private var seenInOrder: [UInt64] = []
    /// nil: this gateway answers nothing yet.
    var answerer: QuestionAnswerer?

    /// False: too many questions wait for their answers.
    mutating func ask(_ id: UInt64, _ nodes: Set<String>, _ wake: WakeUp) -> Bool {
        guard !isClosed, asked.count < Self.askedMax else { return false }
        asked[id] = Asked(missing: nodes, wake: wake)
        return true
    }

    /// Whose answers are still to come.
    func missing(_ id: UInt64) -> Set<String> { isClosed ? [] : asked[id]?.missing ?? [] }

    /// Ends all questions. Returns what wakes those who asked.
    mutating func close() -> [WakeUp] {
        isClosed = true
        return asked.values.map(\.wake)
    }

    /// Adds the answer of a node. `answer` is nil if the node refuses to answer. Returns what wakes the thread that asked, or
    /// nil if no thread waits for this node.
    mutating func add(_ answer: [UInt8]?, to id: UInt64, by node: String) -> WakeUp? {
        guard asked[id]?.missing.remove(node) != nil else { return nil }
        asked[id]?.answers[node] = answer
        return asked[id]?.wake
    }

    mutating func end(_ id: UInt64) -> [String: [UInt8]] {
        asked.removeValue(forKey: id)?.answers ?? [:]
    }

    /// Takes a question of another gateway, which may send it several times. It is answered or refused once.
    mutating func take(_ id: UInt64) -> Arrival {
        guard seen.insert(id).inserted else { return .known }
        seenInOrder.append(id)
        if seenInOrder.count >= 2 * Self.seenMax {
            seen.subtract(seenInOrder.prefix(Self.seenMax))
            seenInOrder.removeFirst(Self.seenMax)
        }
        guard answering < Self.answeringMax, let answerer else { return .busy }
        answering += 1
        return .answer(answerer)
    }

    /// An answer was sent.
    mutating func answered() { answering -= 1 }
}

extension FleetMessages {
    /// How long it may take until the engine takes what is asked. A gateway that has just come cannot be heard at once.
    private static let sendingTime = Duration.seconds(2)
    private static let sendAgain = Duration.milliseconds(20)
    /// Neither may hear the other at first.
    private static let callAgain = Duration.milliseconds(100)
    /// A message may be lost. A question that has come is not answered a second time.
    private static let askAgain = Duration.seconds(1)
    /// Before a question with more patience the gateways are called: one that is not there must not use that time up.
    private static let askUncalled = Duration.seconds(2)

    func answered(_ id: UInt64, _ answer: [UInt8]?, by node: String) {
        state.withLock { $0.questions.add(answer, to: id, by: node) }?.signal()
    }

    func answer(_ id: UInt64, _ question: [UInt8], to node: String) {
        switch state.withLock({ $0.questions.take(id) }) {
        case .answer(let answerer):
            answerer(question) { [weak self] answer in
                self?.reply(.answer(id, answer), to: node)
            }
        case .busy: reply(.busy(id), to: node)
        case .known: break
        }
    }

    /// Those of the nodes that have a gateway at this moment, another one than this. One that lives answers at once.
    func call(_ nodes: Set<String>, atMost patience: Duration = .milliseconds(500)) -> Set<String> {
        Set(ask(nodes, atMost: patience, again: Self.callAgain) { .call($0) }.keys)
    }

    private func ask(
        _ nodes: Set<String>,
        atMost patience: Duration,
        again pause: Duration,
        _ content: (UInt64) -> FleetMessage.Content
    ) -> [String: [UInt8]] {
        guard !nodes.isEmpty, let wake = try? WakeUp() else { return [:] }
        let id = UInt64.random(in: 0...UInt64.max)
        guard state.withLock({ $0.questions.ask(id, nodes, wake) }) else { return [:] }
        var missing = send(content(id), toAllOf: nodes, wake, until: .now + Self.sendingTime)
        var now = Moment.now
        let deadline = now + patience
        var next = now + pause
        while now < deadline {
            missing.formIntersection(state.withLock { $0.questions.missing(id) })
            guard !missing.isEmpty else { break }
            wake.wait(timeout: min(deadline, next) - now)
            now = .now
            guard now >= next else { continue }
            for node in missing where .now < deadline { _ = send(content(id), to: node) }
            next = .now + pause
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
        let isLong = patience > Self.askUncalled
        let there = isLong ? call(nodes, atMost: Self.askUncalled) : nodes
        return ask(there, atMost: patience, again: Self.askAgain) { .question($0, question) }
    }

    func stopAsking() {
        for wake in state.withLock({ $0.questions.close() }) { wake.signal() }
    }

    func answerQuestions(by answerer: @escaping QuestionAnswerer) {
        state.withLock { $0.questions.answerer = answerer }
    }
}
