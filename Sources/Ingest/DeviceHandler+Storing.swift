import Configuration
import HTTP
import Logs
import Queue
import Routing
import System

extension DeviceHandler {
    /// Gives the logs to the queue, and answers when they are durable.
    func store(
        _ taken: TakenLogs,
        _ dispatched: DispatchedLogs,
        of request: IncomingLogs,
        counting figures: IngestCounters.Figures,
        sentBytes: Int
    ) throws(Refusal) {
        let (draft, responder) = (request.draft, request.responder)
        // Before anything is stored: after that the answer is owed.
        if taken.answerBytes > 0 {
            let bytes = taken.answerBytes + HTTPServer.Limits.answerHeadBytes
            let largest = shared.limits.http.largestAnswerBytes
            guard responder.reserve(answerBytes: bytes, largest: largest) else {
                throw .tooManyAnswers
            }
        }
        let identity = taken.identity.map {
            BatchIdentity(digest: $0, receipt: request.receipt, logs: figures.logs)
        }
        var batches: [Batch] = []
        let parts = dispatched.parts.span
        for index in parts.indices where parts[index].logs.count > 0 {
            batches.append(try parts[index].batch())
        }
        let isWatched = shared.tail?.isWatched ?? false
        // Filters and routes may leave nothing. The queue remembers such a request if a repetition
        // can be recognised, so that its logs count once; otherwise nothing has to be written.
        let isQueued = !batches.isEmpty || identity != nil && figures.logs > 0
        if isQueued {
            // The inflated batches wait for the commit, and count like the body.
            let inflated = batches.reduce(0) { $0 + $1.heldBytes }
            guard responder.hold(inflated - sentBytes) else { throw .tooMuchInFlight }
            // So does what a capture keeps, but no request is refused for its sake.
            if let draft, !responder.hold(draft.heldBytes, isNeeded: false) { draft.miss() }
            draft?.track(&batches)
        }
        let queued = QueuedRequest(
            request,
            QueuedRequest.Stored(batches, dispatched, logs: figures.logs, isWatched: isWatched),
            identity: identity,
            figures: figures,
            readers: tables.crossOrigin(request.head),
            hidesLogs: tables.routing.redacts,
            answers: answers,
            response: taken.answer
        )
        guard isQueued else { return try answerWithoutLogs(queued, logs: figures.logs) }
        // The request leaves the intake when the queue has decided.
        guard shared.intake.enter() else { throw .draining }
        shared.queue.append(batches, of: queued)
    }

    /// A question without logs is answered while the gateway drains.
    private func answerWithoutLogs(_ queued: QueuedRequest, logs: Int) throws(Refusal) {
        guard logs == 0 || shared.intake.enter() else { throw .draining }
        defer { if logs > 0 { shared.intake.leave() } }
        if queued.tally.received > 0 { shared.queue.count(queued.tally) }
        queued.accept(isStored: false)
    }
}

extension Batch {
    /// The memory that the batch takes until it is stored.
    fileprivate var heldBytes: Int {
        dead.reduce(logs.bytes.count + stream.trailer.bytes.count) { $0 + $1.logs.bytes.count }
    }
}
