import System

/// Requests that take long, and the threads beside the loops that handle them, so that a loop goes on with its other
/// connections meanwhile.
///
/// Requests are handled in the order in which they came, each by the next thread that is free. How many wait has no
/// bound of its own: each holds its share of the budget of bodies until it is answered.
final class LargeRequests: Sendable {
    struct Request: Sendable {
        let head: RequestHead
        let body: DetachedBody
        let responder: Responder
    }

    private struct State {
        var waiting: [Request] = []
        /// Those before it were taken.
        var next = 0
        var taken = 0
        /// Threads that sleep, by their number.
        var idle: [Int] = []
        var isOver = false

        mutating func takeNext() -> Request? {
            guard next < waiting.count else { return nil }
            let request = waiting[next]
            next += 1
            taken += 1
            // What was taken is let go, at a cost that each request bears once.
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

    /// Those that no thread has begun yet.
    var waitingCount: Int { state.withLock { $0.waiting.count - $0.next } }

    /// Those that a thread has begun.
    var takenCount: Int { state.withLock { $0.taken } }

    func add(_ request: Request) {
        let sleeper = state.withLock { state in
            state.waiting.append(request)
            return state.idle.popLast()
        }
        if let sleeper { wakeUps[sleeper].signal() }
    }

    /// The job of one thread: handles requests until `end`.
    func run(_ thread: Int, _ handler: any RequestHandler) {
        while let request = next(for: thread) {
            handler.handle(request.head, body: request.body.bytes, responder: request.responder)
        }
    }

    /// Each thread ends after the request that it has. Those that wait are dropped; for when the loops have ended, and
    /// nobody is left who could be answered.
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
