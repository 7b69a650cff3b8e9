import Net
import Synchronization
package import System

/// The way back to the client that waits for an answer.
///
/// Cheap to copy and safe on any thread, even after the client has gone; the answer is then
/// dropped.
package struct Responder: Sendable {
    private enum Way: Sendable {
        case request(PendingAnswer)
        case function(@Sendable (Response) -> Void)
    }

    private let way: Way

    private var request: PendingAnswer? {
        if case .request(let request) = way { request } else { nil }
    }

    init(_ request: PendingAnswer) {
        way = .request(request)
    }

    /// Passes the answer to a function. Such a responder has no streams.
    package init(_ deliver: @escaping @Sendable (Response) -> Void) {
        way = .function(deliver)
    }

    /// The thread on which an answer costs least; nil if all are equal.
    package var thread: (any CallbackThread)? { request?.thread }

    package func send(_ response: consuming Response) {
        switch way {
        case .request(let request): request.answer(response)
        case .function(let deliver): deliver(response)
        }
    }

    /// Charges more memory to the request until it is answered: data made from its body that waits
    /// for something. The handler calls it before other threads get the request. Returns false
    /// without room; the handler must then refuse the request, or with `isNeeded` false do without
    /// that data.
    package func hold(_ bytes: Int, isNeeded: Bool = true) -> Bool {
        request?.hold(bytes, isNeeded: isNeeded) ?? true
    }

    /// Reserves room for the answer before the handler does work that the answer must report. The
    /// handler calls it, as `hold`. Returns false without room. `largest` is the size that a single
    /// address may always have.
    package func reserve(answerBytes: Int, largest: Int) -> Bool {
        request?.reserve(answerBytes, largest: largest) ?? true
    }

    /// Answers with a head now and a body that is written over time.
    ///
    /// Returns nil if the request wants no body (HEAD, 204, 304) or is already answered. The stream
    /// holds at most `unsentBytesMax` bytes that the client has not read.
    package func stream(
        _ head: Response,
        unsentBytesMax: Int = 256 << 10
    ) -> ResponseStream? {
        switch way {
        case .request(let request):
            return request.stream(head, unsentBytesMax: unsentBytesMax)
        case .function(let deliver):
            deliver(head)
            return nil
        }
    }
}

/// The connection that an answer goes to.
struct WaitingClient: Sendable {
    let port: LoopPort
    let connection: PollToken
    let neighbourhood: Neighbourhood?
}

/// A request that the handler owes an answer: once, from any thread. Dropping it answers 500.
///
/// Until then it holds the request's share of the body budget, even after the client has gone,
/// because the handler may still work on the body.
final class PendingAnswer: Sendable {
    private let client: WaitingClient
    /// Bytes taken from the body budget, before the handler got the request.
    private let bodyBytes: Int
    /// The body's bytes are of the loop's credit instead.
    private let isOnCredit: Bool
    /// False for HEAD.
    private let wantsBody: Bool
    private let minorVersion: Int
    private let isAnswered = Atomic<Bool>(false)
    /// Further bytes taken from the body budget, from the credit, and from the answer budget.
    /// Changed only on the handler's thread, before other threads get the request.
    private let heldBytes = Atomic<Int>(0)
    private let creditBytes: Atomic<Int>
    private let reservedBytes = Atomic<Int>(0)

    init(
        _ client: WaitingClient,
        bodyBytes: Int,
        credit: Int? = nil,
        wantsBody: Bool,
        minorVersion: Int
    ) {
        self.client = client
        self.bodyBytes = bodyBytes
        isOnCredit = credit != nil
        creditBytes = Atomic(credit ?? 0)
        self.wantsBody = wantsBody
        self.minorVersion = minorVersion
    }

    /// The loop of the connection.
    var thread: any CallbackThread { port }

    private var port: LoopPort { client.port }
    private var neighbourhood: Neighbourhood? { client.neighbourhood }

    // The last reference is gone unanswered: our own bug, but the client must not wait for ever.
    deinit {
        guard !isAnswered.load(ordering: .relaxed) else { return }
        answer(
            Response(status: 500, contentType: "text/plain", text: "the gateway gave no answer\n")
        )
    }

    /// Charges more memory to the request until it is answered; see `Responder.hold`.
    func hold(_ bytes: Int, isNeeded: Bool = true) -> Bool {
        guard bytes > 0 else { return true }
        if isOnCredit, port.credit.take(bytes) {
            creditBytes.add(bytes, ordering: .relaxed)
            return true
        }
        if take(bytes) { return true }
        guard isNeeded else { return false }
        // The loop's credit may be all that is in the way. Without room the request ends at once.
        if isOnCredit, take(bytes + leaveCredit()) { return true }
        port.counters.count(.refusedBodies)
        return false
    }

    /// Takes bytes of the body budget. A single request always has room, or its client would repeat
    /// it for ever.
    private func take(_ bytes: Int) -> Bool {
        let budget = port.budgets.bodies
        let held = bodyBytes + heldBytes.load(ordering: .relaxed)
        let count = min(bytes, budget.limit - held)
        guard count > 0 else { return true }
        guard budget.take(count, for: neighbourhood, largest: held + count) else { return false }
        heldBytes.add(count, ordering: .relaxed)
        return true
    }

    /// Gives back the credit, also the loop's if it has no other request. Returns the bytes.
    private func leaveCredit() -> Int {
        let bytes = creditBytes.exchange(0, ordering: .relaxed)
        port.giveBackCredit(bytes)
        port.credit.close()
        return bytes
    }

    /// Reserves room for the answer; see `Responder.reserve`.
    func reserve(_ bytes: Int, largest: Int) -> Bool {
        guard port.budgets.answers.take(bytes, for: neighbourhood, largest: largest) else {
            port.counters.count(.refusedAnswers)
            return false
        }
        reservedBytes.add(bytes, ordering: .relaxed)
        return true
    }

    func answer(_ response: consuming Response) {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
        if let share = releaseRequest() { response.share = share }
        port.answer(client.connection, response)
    }

    /// Gives back the request's share of the body budget. Returns the room reserved for the answer.
    private func releaseRequest() -> ByteShare? {
        let held = bodyBytes + heldBytes.load(ordering: .relaxed)
        port.budgets.bodies.giveBack(held, of: neighbourhood)
        port.giveBackCredit(creditBytes.load(ordering: .relaxed))
        let reserved = reservedBytes.load(ordering: .relaxed)
        guard reserved > 0 else { return nil }
        return ByteShare(taken: reserved, of: port.budgets.answers, for: neighbourhood)
    }

    func stream(_ head: Response, unsentBytesMax: Int) -> ResponseStream? {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return nil }
        let unsentBytesMax = max(unsentBytesMax, head.body.count)
        let body = StreamedBody(
            client,
            isChunked: minorVersion > 0,
            unsentBytesMax: unsentBytesMax
        )
        let share = releaseRequest()
        guard head.body.withUnsafeBytes({ body.write($0) }) else {
            var response = Response.noRoomForStream
            response.share = share
            port.answer(client.connection, response)
            return nil
        }
        var head = head
        head.share = share
        head.body = []
        head.stream = body
        port.answer(client.connection, head)
        return wantsBody && head.mayHaveBody ? ResponseStream(body) : nil
    }
}

extension Response {
    fileprivate static let noRoomForStream = Response(
        status: 503,
        contentType: "text/plain",
        fields: [("retry-after", "1")],
        text: "\(RequestProblem.tooManyAnswers.reason)\n"
    )
}
