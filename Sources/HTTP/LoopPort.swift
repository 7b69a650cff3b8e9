import Glibc
import Net
import Synchronization
import System

/// The part of a loop that other threads use, and the state that loops share.
final class LoopPort: Sendable {
    enum Message: Sendable {
        case answer(PollToken, Response)
        /// A descriptor that another loop accepted and reserved a place for.
        case connection(CInt, from: SocketAddress)
        /// The connection's stream has bytes to take.
        case more(PollToken)
        /// Work of another thread that ends with answers.
        case callback(@Sendable () -> Void)
        case stop(by: Moment, lastRequests: Moment)
    }

    /// An answer that was given on the loop's own thread.
    struct LocalAnswer {
        let connection: PollToken
        let response: Response
    }

    let poller: Poller
    let wakeUp: WakeUp
    let mailbox: Mailbox<Message>
    let counters = LoopCounters()
    let budgets: Budgets
    let credit: ByteCredit
    let connectionCount: ConnectionCount
    let share = ConnectionShare()

    /// The thread that runs the loop; 0 before it starts.
    private let thread = Atomic<pthread_t>(0)
    private let isOver = Atomic<Bool>(false)
    /// Answers given on the loop thread itself, which need neither lock nor wake-up. Only that
    /// thread touches them: `answer` compares the thread first, and the loop runs on it.
    private nonisolated(unsafe) var localAnswers: [LocalAnswer] = []

    init(budgets: Budgets, connectionCount: ConnectionCount) throws(SystemError) {
        poller = try Poller()
        let wakeUp = try WakeUp()
        self.wakeUp = wakeUp
        mailbox = Mailbox { wakeUp.signal() }
        self.budgets = budgets
        credit = ByteCredit(of: budgets.bodies)
        self.connectionCount = connectionCount
    }

    func bindToThisThread() {
        thread.store(pthread_self(), ordering: .relaxed)
    }

    var isOnLoop: Bool { thread.load(ordering: .relaxed) == pthread_self() }

    /// Gives the answer to the connection if it still exists. From any thread.
    func answer(_ token: PollToken, _ response: consuming Response) {
        if isOnLoop {
            localAnswers.append(LocalAnswer(connection: token, response: response))
        } else {
            post(.answer(token, response))
        }
    }

    /// Hands the loop a connection that another loop accepted. A loop that stops returns it.
    func take(_ descriptor: consuming OwnedDescriptor, from peer: SocketAddress) -> OwnedDescriptor?
    {
        guard share.reserve() else {
            share.settle()
            // It may have seen the reservation and wait for the connection.
            wakeUp.signal()
            return descriptor
        }
        post(.connection(descriptor.released(), from: peer))
        return nil
    }

    func post(_ message: Message) {
        mailbox.post(message)
        // The mailbox's lock orders this load and `end`: either that one takes the message, or the
        // flag is set here.
        if isOver.load(ordering: .sequentiallyConsistent) { dropMessages() }
    }

    /// Called on the loop thread at its end: it takes no more messages.
    func end() {
        for answer in takeLocalAnswers() { answer.response.stream?.close() }
        // Another thread may later get this thread's number.
        thread.store(0, ordering: .relaxed)
        isOver.store(true, ordering: .sequentiallyConsistent)
        credit.close()
        dropMessages()
    }

    /// Gives back what a request held of the credit. From any thread.
    func giveBackCredit(_ count: Int) {
        guard count > 0 else { return }
        credit.giveBack(count)
        if isOver.load(ordering: .sequentiallyConsistent) { credit.close() }
    }

    // Messages from before the loop's end are dropped by the loop, later ones by the thread that
    // posts them. Callbacks also give back what the request held.
    private func dropMessages() {
        for message in mailbox.takeAll() {
            switch message {
            case .answer(_, let response): response.stream?.close()
            case .callback(let callback): callback()
            case .connection(let number, _): _ = OwnedDescriptor(taking: number)
            case .more, .stop: continue
            }
        }
    }

    /// On the loop thread: takes the answers given there since the last call.
    func takeLocalAnswers() -> [LocalAnswer] {
        guard !localAnswers.isEmpty else { return [] }
        let answers = localAnswers
        localAnswers.removeAll(keepingCapacity: true)
        return answers
    }

    /// On the loop thread: takes the answer that the handler gave at once to its current request.
    func takeLocalAnswer(for token: PollToken) -> Response? {
        guard let last = localAnswers.last, last.connection == token else { return nil }
        localAnswers.removeLast()
        return last.response
    }
}

extension LoopPort: CallbackThread {
    func run(_ callback: @escaping @Sendable () -> Void) { post(.callback(callback)) }
}
