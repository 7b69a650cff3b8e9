import Net
import System

extension EventLoop {
    /// Answers that a handler gave on this thread to requests of other connections.
    func giveOwnAnswers() {
        while true {
            let answers = port.takeOwnAnswers()
            guard !answers.isEmpty else { return }
            for (token, response) in answers { give(response, to: token) }
        }
    }

    /// The answer of a handler that took its time. The client may have gone: then it is dropped.
    func give(_ response: Response, to token: PollToken) {
        guard let connection = connection(for: token), connection.isAnswering else {
            response.stream?.close()
            return
        }
        write(response, to: connection)
        guard !connection.isClosed else { return }
        takeTurn(connection)
    }

    /// Puts the answer to the present request into the turn's outgoing bytes, and decides what the
    /// connection does after it.
    func write(_ response: Response, to connection: Connection) {
        guard response.breaks != .beforeAnswer else {
            connection.socket.resetWhenClosed()
            response.stream?.close()
            return close(connection)
        }
        let closes =
            response.closes || response.breaks != nil || !connection.keepsAlive
            || stopDeadline != nil
            || (response.stream != nil && connection.head?.minorVersion == 0)
        let writer = ResponseWriter(
            isHead: connection.head?.method == .head,
            closes: closes,
            minorVersion: connection.head?.minorVersion ?? 1
        )
        writer.write(response, stampedBy: handler, to: &outgoing)
        tally.countAnswer(status: response.status)
        connection.head = nil
        connection.mustRearm = true
        if let stream = response.stream, response.mayHaveBody, !writer.isHead {
            begin(stream, on: connection, keepsAlive: !closes)
        } else {
            connection.phase = closes ? .finishing : .idle
            response.stream?.close()
        }
    }

    /// Answers what cannot be read, or is too slow or too large, and ends the connection: where the next
    /// request would begin is not known any more.
    func refuse(_ problem: RequestProblem, _ connection: Connection) {
        port.budget.giveBack(connection.budgetBytes, of: connection.neighbourhood)
        connection.budgetBytes = 0
        connection.body = nil
        connection.input.dropUnread()
        connection.input.endBody()
        connection.keepsAlive = false
        write(handler.answer(to: problem, head: connection.head), to: connection)
    }
}
