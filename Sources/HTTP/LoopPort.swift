import Glibc
import Net
import Synchronization
import System

/// The side of a loop that other threads see, and what the loops share.
final class LoopPort: Sendable {
    enum Message: Sendable {
        case answer(PollToken, Response)
        /// The stream of the connection has something to take.
        case more(PollToken)
        case stop(by: Moment)
    }

    let poller: Poller
    let wakeUp: WakeUp
    let mailbox: Mailbox<Message>
    let tally = LoopTally()
    let budgets: Budgets
    let census: ConnectionCount

    /// The thread that runs the loop; 0 before it does.
    private let thread = Atomic<pthread_t>(0)
    private let isOver = Atomic<Bool>(false)
    /// Answers given on the loop thread itself, which need neither lock nor wake-up. Touched on that
    /// thread alone: by `answer` after it compared the thread, and by the loop.
    private nonisolated(unsafe) var ownAnswers: [(PollToken, Response)] = []

    init(budgets: Budgets, census: ConnectionCount) throws(SystemError) {
        poller = try Poller()
        let wakeUp = try WakeUp()
        self.wakeUp = wakeUp
        mailbox = Mailbox { wakeUp.signal() }
        self.budgets = budgets
        self.census = census
    }

    func bindToThisThread() {
        thread.store(pthread_self(), ordering: .relaxed)
    }

    var isOnLoop: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// Gives the answer to the connection, if it is still there. From any thread.
    func answer(_ token: PollToken, _ response: Response) {
        if isOnLoop {
            ownAnswers.append((token, response))
        } else {
            post(.answer(token, response))
        }
    }

    func post(_ message: Message) {
        mailbox.post(message)
        if isOver.load(ordering: .acquiring) { dropMail() }
    }

    /// On the loop thread, at its end: nobody takes anything from now on.
    func end() {
        for (_, response) in takeOwnAnswers() { response.stream?.close() }
        // Another thread may get this one's number.
        thread.store(0, ordering: .relaxed)
        isOver.store(true, ordering: .releasing)
        dropMail()
    }

    // What came before the loop said that it is over is dropped by the loop, what comes after it by
    // whoever posted it.
    private func dropMail() {
        for case .answer(_, let response) in mailbox.takeAll() { response.stream?.close() }
    }

    /// On the loop thread: answers given there since the last call.
    func takeOwnAnswers() -> [(PollToken, Response)] {
        guard !ownAnswers.isEmpty else { return [] }
        let answers = ownAnswers
        ownAnswers.removeAll(keepingCapacity: true)
        return answers
    }

    /// On the loop thread: the answer that the handler gave at once to the request it was called with.
    func takeOwnAnswer(for token: PollToken) -> Response? {
        guard let last = ownAnswers.last, last.0 == token else { return nil }
        ownAnswers.removeLast()
        return last.1
    }
}
