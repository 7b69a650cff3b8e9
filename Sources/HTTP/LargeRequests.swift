import Glibc
import Net
import Synchronization
import System

/// A request that waits for a worker thread.
struct LargeRequest: Sendable {
    /// Tells the worker that the client's connection is closed.
    final class Abandonment: Sendable {
        private let flag = Atomic<Bool>(false)

        var isSet: Bool { flag.load(ordering: .relaxed) }

        func set() { flag.store(true, ordering: .relaxed) }
    }

    let head: RequestHead
    let admitted: RequestHandler.Admitted?
    let body: DetachedBody
    /// The estimated work: an upper bound of the content's bytes.
    let cost: Int
    /// nil for a proxy, which stands for many clients.
    let neighbourhood: Neighbourhood?
    let responder: Responder
    let arrival = Moment.now
    let abandonment = Abandonment()

    /// The memory that it holds while it waits.
    var heldBytes: Int { body.capacity + head.heldBytes }
}

/// A request body that owns its memory, so that a handler may read it on another thread.
final class DetachedBody: Sendable {
    /// Read-only after the initialiser; freed with the last reference.
    private nonisolated(unsafe) let block: UnsafeMutableRawPointer
    private let range: Range<Int>
    /// The block's capacity, which is the body's cost in memory.
    let capacity: Int

    /// Takes ownership of the block.
    init(_ block: BufferPool.Block, _ range: Range<Int>) {
        self.block = block.memory
        self.range = range
        capacity = block.capacity
    }

    deinit { free(block) }

    /// The 64 bytes after its end may be read (see `handle`). Valid while this object lives.
    var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: block + range.lowerBound, count: range.count)
    }
}

/// Runs large requests on worker threads, so that an event loop keeps serving its other
/// connections.
///
/// Neighbourhoods take turns (`FairOrder`). Waiting requests hold at most half of the body budget,
/// and one neighbourhood a quarter, so small requests always find room. A request that has waited
/// for `longestWait` is refused with 503: its client has probably given up. A request whose
/// connection is closed is dropped.
final class LargeRequests: Sendable {
    private struct State {
        var order = FairOrder<LargeRequest>()
        /// Numbers of the sleeping threads.
        var idle: [Int] = []
        var nextSweep = Moment(nanoseconds: 0)
        var isOver = false
    }

    private static let sweepEvery: Duration = .milliseconds(100)

    let counters = CounterSet<HTTPCounter>()
    private let state = Locked(State())
    private let wakeUps: [WakeUp]
    private let budget: ByteBudget
    private let longestWait: Duration

    init(
        threads: Int,
        budget: ByteBudget,
        longestWait: Duration
    ) throws(SystemError) {
        var wakeUps: [WakeUp] = []
        for _ in 0..<threads { wakeUps.append(try WakeUp()) }
        self.wakeUps = wakeUps
        self.budget = budget
        self.longestWait = longestWait
    }

    /// Requests that no thread has started.
    var waitingCount: Int { state.withLock { $0.order.waitingCount } }

    /// False without room: the caller refuses it. Called on the thread of the handler's loop.
    func add(_ request: LargeRequest, _ handler: any RequestHandler) -> Bool {
        if !reserve(request) {
            sweep(handler)
            guard reserve(request) else {
                counters.count(.largeRefused)
                return false
            }
        }
        let sleeper = state.withLock { state in
            state.order.add(request, of: request.neighbourhood, cost: request.cost)
            return state.idle.popLast()
        }
        if let sleeper { wakeUps[sleeper].signal() }
        return true
    }

    /// The body of a worker thread: runs requests until `end`.
    func run(_ thread: Int, _ handler: any RequestHandler) {
        while let request = next(for: thread) {
            giveBack(request)
            // Dropping the request gives back its memory.
            guard !request.abandonment.isSet else { continue }
            guard !isOverdue(request) else {
                refuse(request, handler)
                continue
            }
            counters.count(.largeStarted)
            handler.handle(
                request.head,
                request.admitted,
                body: request.body.bytes,
                responder: request.responder
            )
        }
    }

    /// Ends each thread after its current request and drops the waiting ones. Call it after the
    /// event loops have ended: no connection then waits for an answer.
    func end() {
        let dropped = state.withLock { state in
            state.isOver = true
            return state.order.removeAll { _ in true }
        }
        for request in dropped { giveBack(request) }
        for wakeUp in wakeUps { wakeUp.signal() }
    }

    private func next(for thread: Int) -> LargeRequest? {
        while true {
            let (request, isOver) = state.withLock { state in
                let request = state.isOver ? nil : state.order.takeNext()
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

    private func isOverdue(_ request: LargeRequest) -> Bool {
        Moment.now - request.arrival > longestWait
    }

    private func refuse(_ request: LargeRequest, _ handler: any RequestHandler) {
        counters.count(.largeRefused)
        let problem = RequestProblem.waitedTooLong
        request.responder.send(
            handler.answer(to: problem, head: request.head, request.admitted)
        )
    }

    /// Makes room: drops waiting requests whose clients are gone, and refuses overdue ones.
    private func sweep(_ handler: any RequestHandler) {
        let now = Moment.now
        let removed: [LargeRequest] = state.withLock { state in
            guard now >= state.nextSweep else { return [] }
            state.nextSweep = now + Self.sweepEvery
            return state.order.removeAll { $0.abandonment.isSet || isOverdue($0) }
        }
        for request in removed {
            giveBack(request)
            if !request.abandonment.isSet { refuse(request, handler) }
        }
    }

    private func reserve(_ request: LargeRequest) -> Bool {
        let bytes = charge(of: request)
        return budget.take(bytes, for: request.neighbourhood, largest: bytes)
    }

    private func giveBack(_ request: LargeRequest) {
        budget.giveBack(charge(of: request), of: request.neighbourhood)
    }

    /// A single waiting request always has room.
    private func charge(of request: LargeRequest) -> Int { min(request.heldBytes, budget.limit) }
}

/// The order in which waiting requests get their turn: start-time fair queueing over
/// neighbourhoods.
///
/// A request gets a start tag on arrival: the end of its neighbourhood's previous request, or the
/// start tag of the running request if that is later. Requests run in the order of their tags. So a
/// neighbourhood with a long backlog delays another one's request by only one of its own requests,
/// whatever its requests cost.
struct FairOrder<Element> {
    private struct Turn: Comparable {
        let start: Int
        let number: Int

        /// Arrival order decides between equal tags.
        static func < (one: Turn, other: Turn) -> Bool {
            (one.start, one.number) < (other.start, other.number)
        }
    }

    /// The limit of remembered neighbourhoods; others start like new ones.
    private static var neighbourhoodsMax: Int { 16_384 }

    private var waiting = PriorityQueue<Turn, Element>()
    /// The end of each neighbourhood's last request, in the unit of costs.
    private var ends: [Neighbourhood?: Int] = [:]
    private var now = 0
    private var count = 0

    var waitingCount: Int { waiting.count }
    var rememberedCount: Int { ends.count }

    mutating func add(_ element: Element, of neighbourhood: Neighbourhood?, cost: Int) {
        if ends.count >= Self.neighbourhoodsMax { forgetNeighbourhoods() }
        let start = max(now, ends[neighbourhood] ?? 0)
        ends[neighbourhood] = start + max(1, cost)
        count += 1
        waiting.add(element, at: Turn(start: start, number: count))
    }

    mutating func takeNext() -> Element? {
        guard let (turn, element) = waiting.takeFirst() else { return nil }
        // An empty queue starts over, so no neighbourhood is ahead of another.
        if waiting.count == 0 { (now, ends) = (0, [:]) } else { now = turn.start }
        return element
    }

    /// Removes all elements that meet the condition.
    mutating func removeAll(where condition: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        waiting.removeAll { element in
            guard condition(element) else { return false }
            removed.append(element)
            return true
        }
        return removed
    }

    private mutating func forgetNeighbourhoods() {
        let now = now
        ends = ends.filter { $0.value > now }
        if ends.count >= Self.neighbourhoodsMax { ends = [:] }
    }
}
