import HTTP
import System

/// Answers that are not given at once: delayed or held by a fault, or waiting for logs to arrive.
final class LateAnswers: Sendable {
    private struct Entry: Sendable {
        let number: Int
        let response: Response
        let responder: Responder
        /// When it is given at the latest; nil for one that is held.
        var due: Moment?
        var holder: Int?
        var wait: LogWait?
    }

    private struct State {
        var entries: [Entry] = []
        var lastNumber = 0
        /// Something may have arrived that is waited for.
        var hasNews = false
        var isStopped = false

        /// Removes those that are meant, and gives them.
        mutating func take(_ isMeant: (Entry) -> Bool) -> [Entry] {
            let taken = entries.filter(isMeant)
            if !taken.isEmpty { entries.removeAll(where: isMeant) }
            return taken
        }
    }

    /// Looking whether what is waited for has come costs a query, so it is not done for each write.
    private static let pause: Duration = .milliseconds(20)

    private let state = Locked(State())
    private let wakeUp: WakeUp
    private let capacity: Int

    init(capacity: Int) throws(SystemError) {
        wakeUp = try WakeUp()
        self.capacity = capacity
    }

    /// Gives the answer now, or keeps it for later. When too many are kept it is given now.
    func deliver(_ answer: Answer, to responder: Responder) {
        let isKept = state.withLock { state in
            guard
                answer.delivery != .now, !state.isStopped, state.entries.count < capacity
            else { return false }
            state.lastNumber += 1
            var entry = Entry(
                number: state.lastNumber,
                response: answer.response,
                responder: responder
            )
            switch answer.delivery {
            case .now: break
            case .after(let delay): entry.due = .now + delay
            case .whenReleased(let fault): entry.holder = fault
            case .whenStored(let wait, let time):
                entry.due = .now + time
                entry.wait = wait
                state.hasNews = true
            }
            state.entries.append(entry)
            return true
        }
        if isKept { wakeUp.signal() } else { responder.send(answer.response) }
    }

    /// Lets go what this fault holds.
    func release(fault: Int) {
        state.withLock { state in
            for index in state.entries.indices where state.entries[index].holder == fault {
                state.entries[index].due = .now
            }
        }
        wakeUp.signal()
    }

    /// Logs have arrived.
    func noteStored() {
        let isAwaited = state.withLock { state in
            guard !state.hasNews, state.entries.contains(where: { $0.wait != nil }) else {
                return false
            }
            state.hasNews = true
            return true
        }
        if isAwaited { wakeUp.signal() }
    }

    /// Gives everything that is kept and keeps nothing more.
    func stop() {
        state.withLock { $0.isStopped = true }
        wakeUp.signal()
    }

    // MARK: - The thread

    /// Gives each answer in its time, until `stop`.
    func run(for sandbox: Sandbox) {
        var lookedAt = Moment(nanoseconds: 0)
        while true {
            let (due, isStopped) = takeDue(at: .now)
            for entry in due { give(entry, sandbox) }
            if isStopped { return }
            if Moment.now >= lookedAt + Self.pause, takeNews() {
                lookedAt = .now
                for entry in takeFulfilled(sandbox) { give(entry, sandbox) }
            }
            wakeUp.wait(timeout: timeToNext(lookedAt))
        }
    }

    private func takeDue(at moment: Moment) -> (due: [Entry], isStopped: Bool) {
        state.withLock { state in
            let isStopped = state.isStopped
            let due = state.take { isStopped || $0.due.map { $0 <= moment } ?? false }
            return (due, isStopped)
        }
    }

    private func takeNews() -> Bool {
        state.withLock { state in
            defer { state.hasNews = false }
            return state.hasNews
        }
    }

    private func takeFulfilled(_ sandbox: Sandbox) -> [Entry] {
        var looked: [Int: LogWait] = [:]
        for entry in state.withLock({ $0.entries }) {
            guard var wait = entry.wait else { continue }
            // What cannot be read is no reason to give up: the time is bounded anyway.
            try? wait.look(in: sandbox)
            looked[entry.number] = wait
        }
        return state.withLock { state in
            for index in state.entries.indices {
                guard let wait = looked[state.entries[index].number] else { continue }
                state.entries[index].wait = wait
            }
            return state.take { $0.wait?.isOver ?? false }
        }
    }

    private func give(_ entry: Entry, _ sandbox: Sandbox) {
        guard let query = entry.wait?.query else { return entry.responder.send(entry.response) }
        do {
            entry.responder.send(try sandbox.lines(query).response)
        } catch {
            entry.responder.send(
                Response(
                    status: error.status,
                    fields: [("content-type", "application/json")],
                    body: error.body
                )
            )
        }
    }

    private func timeToNext(_ lookedAt: Moment) -> Duration? {
        let next = state.withLock { state in
            let due = state.entries.compactMap(\.due).min()
            guard state.hasNews else { return due }
            let look = lookedAt + Self.pause
            return due.map { min($0, look) } ?? look
        }
        return next.map { max(.zero, $0 - .now) }
    }
}
