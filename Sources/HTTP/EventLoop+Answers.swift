import Net
import System

extension EventLoop {
    /// Answers up to this size mostly fit into the kernel's buffer at once.
    private static let freeAnswerBytes = 64 << 10

    /// Sends the answers that the handler gave on this thread to earlier requests, of any
    /// connection.
    func sendLocalAnswers() {
        while true {
            let answers = port.takeLocalAnswers()
            guard !answers.isEmpty else { return }
            for (token, response) in answers { deliver(response, to: token) }
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
        let response = bounded(response, connection)
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

    /// A large answer must be within the limit and find room in the budget. A promised answer took
    /// its room before.
    private func bounded(_ response: Response, _ connection: ClientConnection) -> Response {
        let count = response.body.count
        guard count > Self.freeAnswerBytes, response.share == nil else { return response }
        let problem: RequestProblem
        if count > limits.answerBytes {
            problem = .answerTooLarge(count, most: limits.answerBytes)
        } else if port.budgets.answers.hasRoom(
            for: count + HTTPServer.Limits.answerHeadBytes,
            of: connection.client.neighbourhood,
            largest: limits.largestAnswerBytes
        ) {
            return response
        } else {
            problem = .tooManyAnswers
        }
        counters.count(.refusedAnswers)
        response.stream?.close()
        return handler.answer(
            to: problem,
            head: connection.request.head,
            connection.request.admitted
        )
    }

    /// Answers an unreadable, slow or too large request and ends the connection, because the start
    /// of the next request is unknown.
    func answerAndClose(_ problem: RequestProblem, _ connection: ClientConnection) {
        dropBody(connection)
        connection.keepsAlive = false
        let response = handler.answer(
            to: problem,
            head: connection.request.head,
            connection.request.admitted
        )
        write(response, to: connection)
    }
}

// MARK: - Answers whose body a writer gives over time

extension EventLoop {
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

    /// Takes all pending bytes of the stream. A turn gets here only after it has sent all bytes
    /// taken before.
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
