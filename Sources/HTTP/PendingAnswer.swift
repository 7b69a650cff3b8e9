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

    func answer(_ response: Response) {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
        port.budget.giveBack(bodyBytes, of: neighbourhood)
        port.answer(connection, response)
    }

    func stream(_ head: Response, unsentBytesMax: Int) -> ResponseStream? {
        guard !isAnswered.exchange(true, ordering: .relaxed) else { return nil }
        port.budget.giveBack(bodyBytes, of: neighbourhood)
        let body = StreamedBody(
            port: port,
            connection: connection,
            isChunked: minorVersion > 0,
            unsentBytesMax: max(unsentBytesMax, head.body.count)
        )
        _ = head.body.withUnsafeBytes { body.write($0) }
        var head = head
        head.body = []
        head.stream = body
        port.answer(connection, head)
        return wantsBody && head.mayHaveBody ? ResponseStream(body) : nil
    }
}
