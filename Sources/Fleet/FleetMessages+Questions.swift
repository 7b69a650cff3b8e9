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

    private var asked: [UInt64: Asked] = [:]
    private var answering = 0
    private var seen: Set<UInt64> = []
    private var seenInOrder: [UInt64] = []
    /// nil: this gateway answers nothing yet.
    var answerer: QuestionAnswerer?

    /// False: too many questions wait for their answers.
    mutating func ask(_ id: UInt64, _ nodes: Set<String>, _ wake: WakeUp) -> Bool {
        guard asked.count < Self.askedMax else { return false }
        asked[id] = Asked(missing: nodes, wake: wake)
        return true
    }

    func isAnswered(_ id: UInt64) -> Bool { asked[id]?.missing.isEmpty ?? true }

    /// Returns what wakes the one who asked; nil: nobody asked that node, or it has answered.
    mutating func add(_ answer: [UInt8], to id: UInt64, by node: String) -> WakeUp? {
        guard asked[id]?.missing.remove(node) != nil else { return nil }
        asked[id]?.answers[node] = answer
        return asked[id]?.wake
    }

    mutating func end(_ id: UInt64) -> [String: [UInt8]] {
        asked.removeValue(forKey: id)?.answers ?? [:]
    }

    /// Returns who answers the question; nil: nobody does. One that comes a second time was not sent by a gateway.
    mutating func take(_ id: UInt64) -> QuestionAnswerer? {
        guard seen.insert(id).inserted else { return nil }
        seenInOrder.append(id)
        if seenInOrder.count >= 2 * Self.seenMax {
            seen.subtract(seenInOrder.prefix(Self.seenMax))
            seenInOrder.removeFirst(Self.seenMax)
        }
        guard answering < Self.answeringMax, let answerer else { return nil }
        answering += 1
        return answerer
    }

    /// An answer was sent.
    mutating func answered() { answering -= 1 }
}

extension FleetMessages {
    /// How long others may take to answer.
    private static let patience = Duration.seconds(2)
    /// A gateway that lives answers a call at once.
    private static let callPatience = Duration.milliseconds(500)
    /// A gateway that has just come may not be heard yet.
    private static let sendAgain = Duration.milliseconds(20)

    func answered(_ id: UInt64, _ answer: [UInt8], by node: String) {
        state.withLock { $0.questions.add(answer, to: id, by: node) }?.signal()
    }

    func answer(_ id: UInt64, _ question: [UInt8], to node: String) {
        let answerer = state.withLock { $0.questions.take(id) }
        answerer?(question) { [weak self] answer in
            self?.reply(.answer(id, answer), to: node)
        }
    }

    /// Those of the nodes that have a gateway at this moment, another one than this.
    func call(_ nodes: Set<String>) -> Set<String> {
        Set(ask(nodes, atMost: Self.callPatience) { .call($0) }.keys)
    }

    func ask(
        _ nodes: Set<String>,
        _ question: [UInt8],
        atMost patience: Duration
    ) -> [String: [UInt8]] {
        ask(nodes, atMost: patience) { .question($0, question) }
    }

    private func ask(
        _ nodes: Set<String>,
        atMost patience: Duration,
        _ content: (UInt64) -> FleetMessage.Content
    ) -> [String: [UInt8]] {
        guard !nodes.isEmpty, let wake = try? WakeUp() else { return [:] }
        let id = UInt64.random(in: 0...UInt64.max)
        guard state.withLock({ $0.questions.ask(id, nodes, wake) }) else { return [:] }
        let deadline = Moment.now + patience
        for node in nodes {
            while !send(content(id), to: node), .now < deadline {
                wake.wait(timeout: Self.sendAgain)
            }
        }
        while .now < deadline, !state.withLock({ $0.questions.isAnswered(id) }) {
            wake.wait(timeout: deadline - .now)
        }
        return state.withLock { $0.questions.end(id) }
    }
}

extension FleetMessages: OtherGateways {
    func ask(_ nodes: Set<String>, _ question: [UInt8]) -> [String: [UInt8]] {
        ask(nodes, question, atMost: Self.patience)
    }

    func answerQuestions(by answerer: @escaping QuestionAnswerer) {
        state.withLock { $0.questions.answerer = answerer }
    }
}
