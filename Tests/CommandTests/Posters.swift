import System

/// Threads that post numbered logs and remember which ones were answered with 200.
final class Posters: Sendable {
    private struct State {
        var port: UInt16?
        var isStopped = false
        var answered: Set<String> = []
        var answersLeft = 0
    }

    private let state = Locked(State())
    private let portChanged: [WakeUp]
    private let answersReached: WakeUp
    private let workers: Locked<[Worker]>

    init(count: Int) throws {
        let wakeUps = try (0..<count).map { _ in try WakeUp() }
        let answersReached = try WakeUp()
        portChanged = wakeUps
        self.answersReached = answersReached
        workers = Locked([])
        let state = state
        let started = try wakeUps.indices.map { index in
            try Worker("poster-\(index)") {
                Self.run(index, state, wakeUps[index], answersReached)
            }
        }
        workers.withLock { $0 = started }
    }

    var answered: Set<String> { state.withLock { $0.answered } }

    func post(to port: UInt16) {
        state.withLock { $0.port = port }
        for wakeUp in portChanged { wakeUp.signal() }
    }

    /// Returns when so many more requests have been answered with 200.
    func waitForAnswers(_ count: Int) {
        state.withLock { $0.answersLeft = count }
        while state.withLock({ $0.answersLeft > 0 }) { answersReached.wait() }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        for wakeUp in portChanged { wakeUp.signal() }
        for worker in workers.withLock({ $0 }) { worker.join() }
    }

    private static func run(
        _ index: Int,
        _ state: Locked<State>,
        _ portChanged: WakeUp,
        _ answersReached: WakeUp
    ) {
        var number = 0
        while !state.withLock({ $0.isStopped }) {
            guard let port = state.withLock({ $0.port }), let client = Client(port: port) else {
                // Nobody there: the next port is announced.
                portChanged.wait(timeout: .milliseconds(100))
                continue
            }
            while true {
                let numbers = (0..<5).map { "\(index)-\(number + $0)" }
                number += 5
                let body = numbers.map { #"{"number":"\#($0)"}"# }.joined(separator: "\n")
                guard let answer = client.send("POST", "/logs/kill", body: body) else { break }
                guard answer.status == 200 else { break }
                let isReached = state.withLock { state in
                    state.answered.formUnion(numbers)
                    state.answersLeft -= 1
                    return state.answersLeft == 0
                }
                if isReached { answersReached.signal() }
                if state.withLock({ $0.isStopped }) { return }
            }
        }
    }
}
