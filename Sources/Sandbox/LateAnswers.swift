import HTTP
import System

/// Answers that are not given at once: delayed or held by a fault, or waiting for logs to arrive.
final class LateAnswers: Sendable {
    private struct Entry: Sendable {
        let response: Response
        let responder: Responder
        var due: Moment?
        var holder: Int?
        var waits: (count: Int, query: LogQuery)?
    }

    private struct State {
        var entries: [Entry] = []
        var hasNews = false
        var isStopped = false
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
        var entry = Entry(response: answer.response, responder: responder)
        switch answer.delivery {
        case .now: return responder.send(answer.response)
        case .after(let delay): entry.due = .now + delay
        case .whenReleased(let fault): entry.holder = fault
        case .whenStored(let count, let query, let time):
            entry.due = .now + time
            entry.waits = (count, query)
        }
        let isKept = state.withLock { [entry] state in
            guard !state.isStopped, state.entries.count < capacity else { return false }
            state.entries.append(entry)
            state.hasNews = true
            return true
        }
        guard isKept else { return responder.send(answer.response) }
        wakeUp.signal()
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
            let isAwaited = state.entries.contains { $0.waits != nil }
            if isAwaited { state.hasNews = true }
            return isAwaited
        }
        if isAwaited { wakeUp.signal() }
    }

    /// Gives everything that is kept and keeps nothing more.
    func stop() {
        state.withLock { $0.isStopped = true }
        wakeUp.signal()
    }

    /// The work of its thread: gives each answer in its time, until `stop`.
    func run(for sandbox: Sandbox) {
        var lookedAt = Moment(nanoseconds: 0)
        while true {
            let (due, isStopped) = takeDue(at: .now)
            for entry in due { entry.responder.send(response(of: entry, sandbox)) }
            if isStopped { return }
            if Moment.now >= lookedAt + Self.pause, takeNews() {
                lookedAt = .now
                for entry in takeFulfilled(sandbox) {
                    entry.responder.send(response(of: entry, sandbox))
                }
            }
            wakeUp.wait(timeout: timeToNext(lookedAt))
        }
    }

    private func takeDue(at moment: Moment) -> (due: [Entry], isStopped: Bool) {
        state.withLock { state in
            func isDue(_ entry: Entry) -> Bool {
                state.isStopped || entry.due.map { $0 <= moment } ?? false
            }
            let due = state.entries.filter(isDue)
            if !due.isEmpty {
                let rest = state.entries.filter { !isDue($0) }
                state.entries = rest
            }
            return (due, state.isStopped)
        }
    }

    private func takeNews() -> Bool {
        state.withLock { state in
            defer { state.hasNews = false }
            return state.hasNews
        }
    }

    private func takeFulfilled(_ sandbox: Sandbox) -> [Entry] {
        let waiting = state.withLock { $0.entries.compactMap(\.waits) }
        // An unreadable archive ends the waiting too: the answer then says so.
        let fulfilled = waiting.filter { (try? sandbox.has($0.count, $0.query)) ?? true }
        guard !fulfilled.isEmpty else { return [] }
        return state.withLock { state in
            func isFulfilled(_ entry: Entry) -> Bool {
                guard let waits = entry.waits else { return false }
                return fulfilled.contains { $0.count == waits.count && $0.query == waits.query }
            }
            let taken = state.entries.filter(isFulfilled)
            let rest = state.entries.filter { !isFulfilled($0) }
            state.entries = rest
            return taken
        }
    }

    private func response(of entry: Entry, _ sandbox: Sandbox) -> Response {
        guard let query = entry.waits?.query else { return entry.response }
        do {
            return try sandbox.lines(query).response
        } catch {
            return Response(
                status: error.status,
                contentType: "application/json",
                text: String(decoding: error.body, as: UTF8.self)
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
