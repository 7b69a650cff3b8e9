import Net
import Synchronization

/// One request that a handler has to answer: once, from any thread, or by forgetting it.
///
/// Until then it holds the request's share of the body budget, also when the client has gone: the
/// handler may still be working on what came.
final class PendingAnswer: Sendable {
    private let port: LoopPort
    private let connection: PollToken
    private let neighbourhood: Neighbourhood?
    private let bodyBytes: Int
    /// Unless the method is HEAD.
    private let wantsBody: Bool
    private let minorVersion: Int
    private let isAnswered = Atomic<Bool>(false)
    /// What was taken of the budget of bodies besides the body, and of that of answers. Changed on the handler's thread
    /// before anybody else has the request.
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

    // Nobody is left who could answer: our own bug, but the client must not wait for ever.
    deinit {
        guard !isAnswered.load(ordering: .relaxed) else { return }
        answer(Response(status: 500, contentType: "text/plain", text: "no answer was given\n"))
    }

    /// Charges more memory to the request until it is answered; see `Responder.hold`.
    func hold(_ bytes: Int) -> Bool {
        let budget = port.budgets.bodies
        let held = bodyBytes + heldBytes.load(ordering: .relaxed)
        // A request that is alone always has room, or it would be sent again for ever.
        let count = min(bytes, budget.limit - held)
        guard count > 0 else { return true }
        guard budget.take(count, for: neighbourhood, largest: held + count) else {
            port.tally.refusedInFlight.add()
            return false
        }
        heldBytes.add(count, ordering: .relaxed)
        return true
    }

    /// Takes room for the answer; see `Responder.reserve`.
    func reserve(_ bytes: Int, largest: Int) -> Bool {
        guard port.budgets.answers.take(bytes, for: neighbourhood, largest: largest) else {
            port.tally.refusedAnswers.add()
            return false
        }
        reservedBytes.add(bytes, ordering: .relaxed)
        return true
    }

    func answer(_ response: Response) {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
        port.answer(connection, settled(response))
    }

    /// What the request had taken goes back; room for the answer goes on with it.
    private func settled(_ response: Response) -> Response {
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
            port.answer(connection, settled(.noRoomForStream))
            return nil
        }
        var head = settled(head)
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
