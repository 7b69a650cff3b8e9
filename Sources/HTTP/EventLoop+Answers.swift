import Net
import System

extension EventLoop {
    /// Answers up to this size mostly fit into the kernel's buffer at once.
    private static let freeAnswerBytes = 64 << 10

    /// Sends answers that a handler gave on this thread to requests of other connections.
    func giveOwnAnswers() {
        while true {
            let answers = port.takeOwnAnswers()
            guard !answers.isEmpty else { return }
            for (token, response) in answers { give(response, to: token) }
        }
    }

    /// Sends an answer that took its time. It is dropped if the client is gone.
    func give(_ response: Response, to token: PollToken) {
        guard let connection = connection(for: token), connection.isAnswering else {
            response.stream?.close()
            return
        }
        write(response, to: connection)
        guard !connection.isClosed else { return }
        takeTurn(connection)
    }

    /// Appends the answer to the turn's output, and decides how the connection continues.
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
            || (response.stream != nil && connection.asked.minorVersion == 0)
        let writer = ResponseWriter(asked: connection.asked, closes: closes)
        writer.write(response, stampedBy: handler, to: &outgoing)
        tally.countAnswer(status: response.status)
        connection.head = nil
        connection.admitted = nil
        connection.abandonment = nil
        connection.asked = .init()
        if let share = response.share { connection.holdings.reserved = share }
        connection.mustRearm = true
        if let stream = response.stream, response.mayHaveBody, !writer.asked.isHead {
            begin(stream, on: connection, keepsAlive: !closes)
        } else {
            connection.phase = closes ? .finishing : .idle
            response.stream?.close()
        }
    }

    /// A large answer must be within the limit and find room in the budget. A promised answer took its room before.
    private func bounded(_ response: Response, _ connection: ClientConnection) -> Response {
        let count = response.body.count
        guard count > Self.freeAnswerBytes, response.share == nil else { return response }
        let problem: RequestProblem
        if count > limits.answerBytes {
            problem = .answerTooLarge(count, most: limits.answerBytes)
        } else if port.budgets.answers.hasRoom(
            for: count + HTTPServer.Limits.answerHeadBytes,
            of: connection.neighbourhood,
            largest: limits.largestAnswerBytes
        ) {
            return response
        } else {
            problem = .tooManyAnswers
        }
        tally.refusedAnswers.add()
        response.stream?.close()
        return handler.answer(to: problem, head: connection.head, connection.admitted)
    }

    /// Answers an unreadable, slow or too large request and ends the connection, because the start of the next request
    /// is unknown.
    func refuse(_ problem: RequestProblem, _ connection: ClientConnection) {
        dropBody(connection)
        connection.keepsAlive = false
        let response = handler.answer(to: problem, head: connection.head, connection.admitted)
        write(response, to: connection)
    }
}

extension RequestProblem {
    static let tooManyAnswers = RequestProblem(
        status: 503,
        reason:
            "too many answers are unread (limits.answers_in_flight), in total or from one "
            + "address; try again"
    )

    fileprivate static func answerTooLarge(_ count: Int, most: Int) -> RequestProblem {
        RequestProblem(
            status: 500,
            reason:
                "the answer would have \(count) bytes, more than the limit of \(most); request less"
        )
    }
}
