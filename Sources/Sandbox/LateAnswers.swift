import HTTP
import SQLite
import System

/// Answers that are sent later: delayed or held by a fault, or waiting for logs to arrive.
final class LateAnswers: Sendable {
    private struct Entry: Sendable {
        let number: Int
        let response: Response
        let responder: Responder
        /// The latest time to send it; nil for a held answer.
        var due: Moment?
        var holder: Int?
        var wait: LogWait?
    }

    private struct State {
        var entries: [Entry] = []
        var lastNumber = 0
        /// Logs have arrived since the last look.
        var hasNews = false
        var isStopped = false

        /// Removes the matching entries and returns them.
        mutating func take(_ isMeant: (Entry) -> Bool) -> [Entry] {
            let taken = entries.filter(isMeant)
            if !taken.isEmpty { entries.removeAll(where: isMeant) }
            return taken
        }
    }

    /// Each look for awaited logs costs a query, so it is not done for every write.
    private static let pause: Duration = .milliseconds(20)

    private let state = Locked(State())
    private let wakeUp: WakeUp
    private let capacity: Int

    init(capacity: Int) throws(SystemError) {
        wakeUp = try WakeUp()
        self.capacity = capacity
    }

    /// Sends the answer now or keeps it. When too many are kept, it is sent now.
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

    /// Releases the answers that this fault holds.
    func release(fault: Int) {
        state.withLock { state in
            for index in state.entries.indices where state.entries[index].holder == fault {
                state.entries[index].due = .now
            }
        }
        wakeUp.signal()
    }

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

    func stop() {
        state.withLock { $0.isStopped = true }
        wakeUp.signal()
    }

    // MARK: - The thread

    func run(for sandbox: Sandbox) {
        var lookedAt = Moment(nanoseconds: 0)
        while true {
            let (due, isStopped) = takeDue(at: .now)
            for entry in due { give(entry, sandbox) }
            if isStopped { return }
            if Moment.now >= lookedAt + Self.pause, takeHasNews() {
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

    private func takeHasNews() -> Bool {
        state.withLock { state in
            defer { state.hasNews = false }
            return state.hasNews
        }
    }

    private func takeFulfilled(_ sandbox: Sandbox) -> [Entry] {
        var looked: [Int: LogWait] = [:]
        for entry in state.withLock({ $0.entries }) {
            guard var wait = entry.wait else { continue }
            // A failed look is ignored, because the wait has a limit anyway.
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
            let (status, body) = (error.status, error.body)
            entry.responder.send(
                Response(status: status, contentType: "application/json", body: body)
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

/// A request that waits until enough logs match. Each log is looked at once.
struct LogWait: Sendable, Equatable {
    let count: Int
    let query: LogQuery
    private var found = 0
    /// The position that the search has reached.
    private var cursor: Int64

    init(count: Int, query: LogQuery) {
        self.count = count
        self.query = query
        cursor = query.after
    }

    var isOver: Bool { found >= count }

    /// Searches the logs that arrived since the last look.
    mutating func look(in sandbox: Sandbox) throws(SLSRefusal) {
        var rest = query
        rest.after = cursor
        rest.newest = false
        var wait = self
        try sandbox.look(rest) { archive, slice throws(SQLiteError) in
            wait.found += try archive.count(rest, within: slice)
            wait.cursor = slice.upperBound
            return !wait.isOver
        }
        self = wait
    }
}
