import Net
import System

/// Requests, from the first bytes to the handler.
extension EventLoop {
    /// Tries to read a head.
    func beginRequest(_ connection: ClientConnection) -> Step {
        guard connection.input.start < connection.input.end else { return .needsInput }
        let unread = connection.input.unread
        do throws(RequestProblem) {
            guard let range = try connection.request.scanner.scan(unread, limits) else {
                waitForHead(connection)
                return .needsInput
            }
            let fieldCount = connection.request.scanner.fieldCount
            connection.request.scanner = HeadScanner()
            connection.input.start += range.upperBound
            let parsed = try HeadParser.parse(
                UnsafeRawBufferPointer(rebasing: unread[range]),
                fieldCount: fieldCount,
                peer: connection.client.peer
            )
            admit(parsed, on: connection)
        } catch {
            counters.count(.malformed)
            answerAndClose(error, connection)
        }
        return .advanced
    }

    /// Drops an empty line between requests (RFC 9112 section 2.2), because no other may follow.
    private func waitForHead(_ connection: ClientConnection) {
        if connection.request.scanner.takeEmptyLine() {
            connection.input.dropUnread()
            connection.phase = .idle
        } else {
            connection.phase = .head
        }
    }

    private func admit(_ parsed: ParsedHead, on connection: ClientConnection) {
        connection.request.head = parsed.head
        connection.request.asked = .init(
            isHead: parsed.head.method == .head,
            minorVersion: parsed.head.minorVersion
        )
        connection.keepsAlive = parsed.keepsAlive
        guard !connection.isStale else {
            connection.keepsAlive = false
            let response = handler.answer(to: .staleClient, head: parsed.head, nil)
            return refuseBeforeBody(parsed, with: response, connection)
        }
        switch handler.admit(parsed.head) {
        case .refuse(let response): refuseBeforeBody(parsed, with: response, connection)
        case .accept(let bodyBytesMax, let isSecret, let admitted):
            if let problem = checkDeclaredLength(parsed, bodyBytesMax, connection) {
                let response = handler.answer(to: problem, head: parsed.head, admitted)
                refuseBeforeBody(parsed, with: response, connection)
                return
            }
            connection.request.admitted = admitted
            connection.input.beginBody(isSecret: isSecret)
            begin(BodyReader(parsed.framing, bodyBytesMax, isDropped: false), connection)
            // RFC 9110 section 10.1.1: not needed when part of the body has arrived.
            if parsed.expectsContinue, parsed.framing != .none, connection.input.unread.isEmpty {
                outgoing += ResponseWriter.continueResponse
                counters.countAnswer(status: 100)
            }
        }
    }

    /// Checks a declared length before the first byte of the body is read.
    private func checkDeclaredLength(
        _ parsed: ParsedHead,
        _ bodyBytesMax: Int,
        _ connection: ClientConnection
    ) -> RequestProblem? {
        guard case .length(let count) = parsed.framing, count > 0 else { return nil }
        guard count <= bodyBytesMax else {
            counters.count(.tooLarge)
            return .bodyTooLarge(bodyBytesMax)
        }
        guard
            port.credit.hasRoom(for: count)
                || port.budgets.bodies.hasRoom(
                    for: count,
                    of: connection.client.neighbourhood,
                    largest: bodyBytesMax
                )
        else {
            counters.count(.refusedBodies)
            return .tooManyBodies
        }
        return nil
    }

    /// Answers a request without reading its body for the handler. A small body is read and
    /// dropped, so that the connection survives. A client that waits for "100 Continue" may or may
    /// not send its body, so its connection must close.
    private func refuseBeforeBody(
        _ parsed: ParsedHead,
        with response: Response,
        _ connection: ClientConnection
    ) {
        switch parsed.framing {
        case .none:
            write(response, to: connection)
            return
        case .length(let count) where count > limits.droppedBodyBytes || parsed.expectsContinue:
            connection.keepsAlive = false
        case .chunked where parsed.expectsContinue: connection.keepsAlive = false
        case .length, .chunked: break
        }
        write(response, to: connection)
        guard connection.isIdle else { return }
        begin(BodyReader(parsed.framing, limits.droppedBodyBytes, isDropped: true), connection)
    }

    private func begin(_ body: BodyReader, _ connection: ClientConnection) {
        connection.request.body = body
        connection.request.bodyBegan = now
        connection.phase = .body
        connection.timer.mustRearm = true
    }

    func continueBody(_ connection: ClientConnection) -> Step {
        guard var body = connection.request.body else { return .waits }
        connection.request.body = nil
        do throws(RequestProblem) {
            let isComplete = try body.advance(&connection.input, limits)
            guard isComplete else {
                try charge(connection, for: body, bytes: keptBytes(of: body, connection))
                if body.progressBytes >= limits.bodyProgressBytes {
                    body.progressBytes = 0
                    connection.timer.mustRearm = true
                }
                connection.request.body = body
                return .needsInput
            }
            if body.isDropped {
                connection.phase = .idle
            } else {
                let credit = takeCredit(connection)
                if credit == nil {
                    try charge(connection, for: body, bytes: connection.input.body.count)
                }
                callHandler(connection, credit: credit)
            }
        } catch {
            failBody(error, body, connection)
        }
        return .advanced
    }

    /// Takes the bytes of a small body that came at once. nil: the budget is asked for them.
    private func takeCredit(_ connection: ClientConnection) -> Int? {
        guard connection.holdings.body == 0 else { return nil }
        port.credit.open()
        let count = connection.input.body.count
        return port.credit.take(count) ? count : nil
    }

    /// The memory that an incomplete body occupies between turns.
    private func keptBytes(of body: BodyReader, _ connection: ClientConnection) -> Int {
        let count = connection.input.body.count
        guard count > 0 else { return 0 }
        // The block is larger than the received bytes, but its further pages are untouched.
        return max(count, min(body.declaredBytes ?? .max, Self.firstBlockBytes))
    }

    /// Charges a body to the budget as its bytes come.
    private func charge(
        _ connection: ClientConnection,
        for body: BodyReader,
        bytes: Int
    ) throws(RequestProblem) {
        guard !body.isDropped else { return }
        let (budget, largest) = (port.budgets.bodies, body.bodyBytesMax)
        guard adjust(&connection.holdings.body, to: bytes, of: budget, largest, connection)
        else { throw .tooManyBodies }
    }

    /// Ends the connection after a problem in the body, with an answer if the request has none yet.
    private func failBody(
        _ problem: RequestProblem,
        _ body: BodyReader,
        _ connection: ClientConnection
    ) {
        // A dropped body's request is answered already.
        guard !body.isDropped else {
            connection.phase = .finishing
            return
        }
        switch problem.status {
        case 413: counters.count(.tooLarge)
        case 503: counters.count(.refusedBodies)
        default: counters.count(.malformed)
        }
        answerAndClose(problem, connection)
    }

    /// Gives the complete request to the handler, or a large one to the worker threads.
    private func callHandler(_ connection: ClientConnection, credit: Int?) {
        guard let head = connection.request.head.take() else { return }
        connection.phase = .answering
        let token = connection.token
        let place = connection.client.neighbourhood
        let pending = PendingAnswer(
            WaitingClient(port: port, connection: token, neighbourhood: place),
            bodyBytes: connection.holdings.body,
            credit: credit,
            wantsBody: head.method != .head,
            minorVersion: head.minorVersion
        )
        connection.holdings.body = 0
        let admitted = connection.request.admitted.take()
        if let largeRequests, !connection.input.isSecret,
            let cost = handler.prepare(
                head,
                admitted,
                body: connection.input.body
            ),
            let body = connection.input.detachBody(from: &pool)
        {
            let request = LargeRequest(
                head: head,
                admitted: admitted,
                body: body,
                cost: cost,
                neighbourhood: place,
                responder: Responder(pending)
            )
            enqueue(request, on: largeRequests, pending, connection)
        } else {
            handler.handle(
                head,
                admitted,
                body: connection.input.body,
                responder: Responder(pending)
            )
            connection.input.endBody()
        }
        if let response = port.takeLocalAnswer(for: token) { write(response, to: connection) }
    }

    /// A waiting large request keeps its head and its block, so both are charged.
    private func enqueue(
        _ request: LargeRequest,
        on largeRequests: LargeRequests,
        _ pending: PendingAnswer,
        _ connection: ClientConnection
    ) {
        let problem: RequestProblem
        if !pending.hold(request.heldBytes - request.body.bytes.count) {
            problem = .tooManyBodies
        } else if !largeRequests.add(request, handler) {
            problem = .tooManyLargeRequests
        } else {
            connection.request.abandonment = request.abandonment
            return
        }
        pending.answer(handler.answer(to: problem, head: request.head, request.admitted))
    }

    // MARK: - Answers

    /// Answers up to this size mostly fit into the kernel's buffer at once.
    private static let freeAnswerBytes = 64 << 10

    /// Sends answers that the handler gave on this thread to earlier requests of any connection.
    func sendLocalAnswers() {
        while true {
            let answers = port.takeLocalAnswers()
            guard !answers.isEmpty else { return }
            // A span gives them in place: a loop over elements copies each.
            let span = answers.span
            for index in span.indices { deliver(span[index].response, to: span[index].connection) }
        }
    }

    /// Sends an answer that came after its request's turn. Drops it if the client is gone.
    func deliver(_ response: Response, to token: PollToken) {
        guard let connection = connections[token], connection.isAnswering else {
            response.stream?.close()
            return
        }
        write(response, to: connection)
        guard !connection.isClosed else { return }
        runTurn(connection)
    }

    /// Appends the answer to the turn's output, and decides how the connection continues. Called in
    /// the connection's turn, or directly before it: only a turn sends its output.
    func write(_ response: Response, to connection: ClientConnection) {
        guard response.breaks != .beforeAnswer else {
            connection.socket.resetWhenClosed()
            response.stream?.close()
            return close(connection)
        }
        if let problem = boundProblem(response, connection) {
            counters.count(.refusedAnswers)
            response.stream?.close()
            return write(answer(to: problem, connection), to: connection)
        }
        let closes =
            response.closes || response.breaks != nil || !connection.keepsAlive
            || stopDeadline != nil
            || (response.stream != nil && connection.request.asked.minorVersion == 0)
        let writer = ResponseWriter(asked: connection.request.asked, closes: closes)
        writer.write(response, stampedBy: handler, to: &outgoing)
        counters.countAnswer(status: response.status)
        connection.request = PresentRequest()
        if let share = response.share { connection.holdings.reserved = share }
        connection.timer.mustRearm = true
        if let stream = response.stream, response.mayHaveBody, !writer.asked.isHead {
            begin(stream, on: connection, keepsAlive: !closes)
        } else {
            connection.phase = closes ? .finishing : .idle
            response.stream?.close()
        }
    }

    /// A large answer must be within the limit and find room; a promised one took its room before.
    private func boundProblem(
        _ response: Response,
        _ connection: ClientConnection
    ) -> RequestProblem? {
        let count = response.body.count
        guard count > Self.freeAnswerBytes, response.share == nil else { return nil }
        guard count <= limits.answerBytes else {
            return .answerTooLarge(count, most: limits.answerBytes)
        }
        let hasRoom = port.budgets.answers.hasRoom(
            for: count + HTTPServer.Limits.answerHeadBytes,
            of: connection.client.neighbourhood,
            largest: limits.largestAnswerBytes
        )
        return hasRoom ? nil : .tooManyAnswers
    }

    private func answer(to problem: RequestProblem, _ connection: ClientConnection) -> Response {
        let request = connection.request
        return handler.answer(to: problem, head: request.head, request.admitted)
    }

    /// Answers a problem and ends the connection: where the next request starts is unknown.
    func answerAndClose(_ problem: RequestProblem, _ connection: ClientConnection) {
        dropBody(connection)
        connection.keepsAlive = false
        write(answer(to: problem, connection), to: connection)
    }

    // MARK: - Streamed answers

    /// Starts the stream after the head is written. The turn continues with the stream, which may
    /// have ended already.
    func begin(_ stream: StreamedBody, on connection: ClientConnection, keepsAlive: Bool) {
        connection.stream = stream
        connection.keepsAlive = keepsAlive
        connection.phase = .streaming
        if stopDeadline != nil { stream.end(.cut) }
    }

    /// The stream's writer added bytes, or ended.
    func continueStream(of token: PollToken) {
        guard let connection = connections[token], connection.isStreaming else { return }
        runTurn(connection)
    }

    /// Takes the stream's pending bytes, when the turn has sent all that it took before.
    func continueStream(_ connection: ClientConnection) -> Step {
        guard let stream = connection.stream else { return .waits }
        // A stream may outlive the certificate or the rules that admitted its client.
        if connection.isStale { stream.end(.cut) }
        guard let end = stream.take(into: &outgoing) else { return .waits }
        if end == .cut, !stream.isChunked {
            // Without chunks only a reset tells the client that the answer is not whole.
            connection.socket.resetWhenClosed()
            close(connection)
            return .waits
        }
        connection.stream = nil
        connection.timer.mustRearm = true
        connection.unsent.isCut = end == .cut
        let stays = end == .complete && connection.keepsAlive && stopDeadline == nil
        connection.phase = stays ? .idle : .finishing
        stream.close()
        return .advanced
    }
}
