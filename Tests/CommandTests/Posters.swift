import System
import TestSupport

/// Threads that post numbered logs and remember which ones were answered with 200.
///
/// What got no answer is given up, or, by posters that are `patient`, sent again under the same
/// `Idempotency-Key` until it is answered, as a good client does.
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

    /// What each poster's requests look like; `plain` unless told otherwise.
    struct Manner: Sendable {
        /// Repeats what got no answer, under its `Idempotency-Key`.
        var isPatient = false
        /// Logs whose number is divisible by it carry a field `poison`.
        var poisonEvery = Int.max
        /// The project of every second poster's logs, which are then named after it.
        var otherProject: String?
    }

    init(count: Int, _ manner: Manner = Manner()) throws {
        let wakeUps = try (0..<count).map { _ in try WakeUp() }
        let answersReached = try WakeUp()
        portChanged = wakeUps
        self.answersReached = answersReached
        workers = Locked([])
        let state = state
        let started = try wakeUps.indices.map { index in
            try Worker("poster-\(index)") {
                Self.run(index, manner, state, wakeUps[index], answersReached)
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
        _ manner: Manner,
        _ state: Locked<State>,
        _ portChanged: WakeUp,
        _ answersReached: WakeUp
    ) {
        var number = 0
        while !state.withLock({ $0.isStopped }) {
            guard let port = state.withLock({ $0.port }),
                let client = try? TestConnection(port: port)
            else {
                // Nobody there: the next port is announced.
                portChanged.wait(timeout: .milliseconds(100))
                continue
            }
            while true {
                let batch = Batch(index, first: number, manner)
                if !manner.isPatient { number += 5 }
                let answer = client.request(
                    "POST",
                    "/logs/kill",
                    fields: batch.fields,
                    body: batch.body
                )
                guard answer?.status == 200 else { break }
                if manner.isPatient { number += 5 }
                let numbers = batch.numbers
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

/// Five logs of a poster.
private struct Batch {
    let numbers: [String]
    let fields: [String]
    let body: String

    init(_ poster: Int, first: Int, _ manner: Posters.Manner) {
        let project = poster.isMultiple(of: 2) ? nil : manner.otherProject
        let name = project.map { "\($0)-\(poster)" } ?? "\(poster)"
        numbers = (first..<first + 5).map { "\(name)-\($0)" }
        var fields = project.map { ["x-log-project: \($0)"] } ?? []
        if manner.isPatient { fields.append("Idempotency-Key: \(numbers[0])") }
        self.fields = fields
        // Noise, so that the other project's part of the queue overflows.
        let noise = project == nil ? "" : Self.noise()
        body = zip(first..., numbers)
            .map { number, name in
                let isPoison = number.isMultiple(of: manner.poisonEvery)
                let poison = isPoison ? #","poison":"1""# : ""
                return #"{"number":"\#(name)"\#(poison)\#(noise)}"#
            }
            .joined(separator: "\n")
    }

    private static func noise() -> String {
        let words = (0..<200).map { _ in String(UInt64.random(in: 0 ... .max), radix: 36) }
        return #","noise":"\#(words.joined())""#
    }
}
