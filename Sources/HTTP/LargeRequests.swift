import System

/// Runs large requests on worker threads, so that an event loop keeps serving its other connections.
///
/// First in, first out. The list needs no bound of its own: every request in it holds its share of the body budget
/// until it is answered.
final class LargeRequests: Sendable {
    struct Request: Sendable {
        let head: RequestHead
        let body: DetachedBody
        let responder: Responder
    }

    private struct State {
        var waiting: [Request] = []
        /// Index of the next request to run; the ones before it have been taken.
        var next = 0
        var taken = 0
        /// Numbers of the sleeping threads.
        var idle: [Int] = []
        var isOver = false

        mutating func takeNext() -> Request? {
            guard next < waiting.count else { return nil }
            let request = waiting[next]
            next += 1
            taken += 1
            // Halving keeps removal at amortized constant cost.
            if next * 2 >= waiting.count {
                waiting.removeFirst(next)
                next = 0
            }
            return request
        }
    }

    private let state = Locked(State())
    private let wakeUps: [WakeUp]

    init(threads: Int) throws(SystemError) {
        var wakeUps: [WakeUp] = []
        for _ in 0..<threads { wakeUps.append(try WakeUp()) }
        self.wakeUps = wakeUps
    }

    /// Requests that no thread has started.
    var waitingCount: Int { state.withLock { $0.waiting.count - $0.next } }

    /// Requests that a thread has started, since the beginning.
    var takenCount: Int { state.withLock { $0.taken } }

    func add(_ request: Request) {
        let sleeper = state.withLock { state in
            state.waiting.append(request)
            return state.idle.popLast()
        }
        if let sleeper { wakeUps[sleeper].signal() }
    }

    /// The body of a worker thread: handles requests until `end`.
    func run(_ thread: Int, _ handler: any RequestHandler) {
        while let request = next(for: thread) {
            handler.handle(request.head, body: request.body.bytes, responder: request.responder)
        }
    }

    /// Ends each thread after its current request and drops the waiting ones. Call it when the event loops have ended:
    /// then no connection is left to answer.
    func end() {
        let dropped = state.withLock { state in
            state.isOver = true
            defer { (state.waiting, state.next) = ([], 0) }
            return state.waiting
        }
        for wakeUp in wakeUps { wakeUp.signal() }
        withExtendedLifetime(dropped) {}
    }

    private func next(for thread: Int) -> Request? {
        while true {
            let (request, isOver) = state.withLock { state in
                let request = state.isOver ? nil : state.takeNext()
                if request == nil, !state.isOver, !state.idle.contains(thread) {
                    state.idle.append(thread)
                }
                return (request, state.isOver)
            }
            if isOver { return nil }
            if let request { return request }
            wakeUps[thread].wait()
        }
    }
}
