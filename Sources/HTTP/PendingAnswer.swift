import Net
import Synchronization
import System

/// A request that the handler owes an answer: once, from any thread. Dropping it answers 500.
///
/// Until then it holds the request's share of the body budget, even after the client has gone,
/// because the handler may still work on the body.
final class PendingAnswer: Sendable {
    private let port: LoopPort
    private let connection: PollToken
    private let neighbourhood: Neighbourhood?
    private let bodyBytes: Int
    /// False for HEAD.
    private let wantsBody: Bool
    private let minorVersion: Int
    private let isAnswered = Atomic<Bool>(false)
    /// Further bytes taken from the body budget, and from the answer budget. Changed only on the
    /// handler's thread, before other threads get the request.
    private let heldBytes = Atomic<Int>(0)
    private let reservedBytes = Atomic<Int>(0)

    init(
        port: LoopPort,
        connection: PollToken,
        neighbourhood: Neighbourhood?,
        bodyBytes: Int,
        wantsBody: Bool,
        minorVersion: Int
    ) {
        self.port = port
        self.connection = connection
        self.neighbourhood = neighbourhood
        self.bodyBytes = bodyBytes
        self.wantsBody = wantsBody
        self.minorVersion = minorVersion
    }

    /// The loop of the connection.
    var thread: any CallbackThread { port }

    // The last reference is gone without an answer. That is our own bug, but the client must not
    // wait for ever.
    deinit {
        guard !isAnswered.load(ordering: .relaxed) else { return }
        answer(
            Response(status: 500, contentType: "text/plain", text: "the gateway gave no answer\n")
        )
    }

    /// Charges more memory to the request until it is answered; see `Responder.hold`.
    func hold(_ bytes: Int, isNeeded: Bool = true) -> Bool {
        let budget = port.budgets.bodies
        let held = bodyBytes + heldBytes.load(ordering: .relaxed)
        // A single request always has room, or its client would repeat it for ever.
        let count = min(bytes, budget.limit - held)
        guard count > 0 else { return true }
        guard budget.take(count, for: neighbourhood, largest: held + count) else {
            if isNeeded { port.counters.count(.refusedBodies) }
            return false
        }
        heldBytes.add(count, ordering: .relaxed)
        return true
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

    func answer(_ response: Response) {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
        port.answer(connection, releasingRequest(response))
    }

    /// Gives back the request's share of the body budget. The room reserved for the answer moves
    /// into the response.
    private func releasingRequest(_ response: Response) -> Response {
        let held = bodyBytes + heldBytes.load(ordering: .relaxed)
        port.budgets.bodies.giveBack(held, of: neighbourhood)
        let reserved = reservedBytes.load(ordering: .relaxed)
        guard reserved > 0 else { return response }
        var response = response
        response.share = ByteShare(taken: reserved, of: port.budgets.answers, for: neighbourhood)
        return response
    }

    func stream(_ head: Response, unsentBytesMax: Int) -> ResponseStream? {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return nil }
        let body = StreamedBody(
            port: port,
            connection: connection,
            neighbourhood: neighbourhood,
            isChunked: minorVersion > 0,
            unsentBytesMax: max(unsentBytesMax, head.body.count)
        )
        guard head.body.withUnsafeBytes({ body.write($0) }) else {
            port.answer(connection, releasingRequest(.noRoomForStream))
            return nil
        }
        var head = releasingRequest(head)
        head.body = []
        head.stream = body
        port.answer(connection, head)
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
