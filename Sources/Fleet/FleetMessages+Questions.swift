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

    /// Who has not answered yet.
    func missing(_ id: UInt64) -> Set<String> { asked[id]?.missing ?? [] }

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
    /// How long it may take until the engine takes what is asked. A gateway that has just come cannot be heard at once.
    private static let sendingTime = Duration.seconds(2)
    private static let sendAgain = Duration.milliseconds(20)
    /// A gateway that lives answers a call at once. It is called again, because neither may hear the other at first.
    private static let callPatience = Duration.milliseconds(500)
    private static let callAgain = Duration.milliseconds(100)
    /// Who is asked for longer is called first: one that is not there would keep operators waiting.
    private static let askUncalled = Duration.seconds(2)

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
        let answers = ask(nodes, atMost: Self.callPatience, again: Self.callAgain) { .call($0) }
        return Set(answers.keys)
    }

    private func ask(
        _ nodes: Set<String>,
        atMost patience: Duration,
        again pause: Duration? = nil,
        _ content: (UInt64) -> FleetMessage.Content
    ) -> [String: [UInt8]] {
        guard !nodes.isEmpty, let wake = try? WakeUp() else { return [:] }
        let id = UInt64.random(in: 0...UInt64.max)
        guard state.withLock({ $0.questions.ask(id, nodes, wake) }) else { return [:] }
        let asked = nodes.filter { [sendUntil = Moment.now + Self.sendingTime] node in
            while !send(content(id), to: node) {
                guard .now < sendUntil else { return false }
                wake.wait(timeout: Self.sendAgain)
            }
            return true
        }
        var now = Moment.now
        let deadline = now + patience
        var next = now + (pause ?? patience)
        while now < deadline {
            let missing = state.withLock { $0.questions.missing(id) }.intersection(asked)
            guard !missing.isEmpty else { break }
            wake.wait(timeout: min(deadline, next) - now)
            now = .now
            guard let pause, now >= next else { continue }
            for node in missing { _ = send(content(id), to: node) }
            next = now + pause
        }
        return state.withLock { $0.questions.end(id) }
    }
}

extension FleetMessages: OtherGateways {
    func ask(
        _ nodes: Set<String>,
        _ question: [UInt8],
        atMost patience: Duration
    ) -> [String: [UInt8]] {
        let there = patience > Self.askUncalled ? call(nodes) : nodes
        return ask(there, atMost: patience) { .question($0, question) }
    }

    func answerQuestions(by answerer: @escaping QuestionAnswerer) {
        state.withLock { $0.questions.answerer = answerer }
    }
}
