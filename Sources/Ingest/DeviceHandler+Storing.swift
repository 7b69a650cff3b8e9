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
        let queued = QueuedRequest(
            request: request,
            figures: figures,
            readers: tables.crossOrigin(request.head),
            response: taken.answer,
            answers: answers
        )
        // Filters and routes may leave nothing. The queue remembers such a request if a repetition
        // can be recognised, so that its logs count once; otherwise nothing has to be written.
        let isStored = dispatched.parts.contains { $0.logs.count > 0 }
        guard isStored || identity != nil && figures.logs > 0 else {
            return try answerWithoutLogs(dispatched, queued)
        }
        var batches: [Batch] = []
        for part in dispatched.parts where part.logs.count > 0 { batches.append(try part.batch()) }
        // The inflated batches wait for the commit, and count like the body.
        let inflated = batches.reduce(0) { $0 + $1.heldBytes }
        guard responder.hold(inflated - sentBytes) else { throw .tooMuchInFlight }
        // So does what a capture keeps, but no request is refused for its sake.
        if let draft, !responder.hold(draft.heldBytes, isNeeded: false) { draft.miss() }
        draft?.track(&batches)
        guard shared.intake.enter() else { throw .draining }
        append(batches, identity: identity, dispatched, queued)
    }

    /// A question without logs is answered while the gateway drains.
    private func answerWithoutLogs(
        _ dispatched: DispatchedLogs,
        _ queued: QueuedRequest
    ) throws(Refusal) {
        let hasLogs = queued.figures.logs > 0
        guard !hasLogs || shared.intake.enter() else { throw .draining }
        defer { if hasLogs { shared.intake.leave() } }
        let tally = dispatched.tally(of: queued.figures.logs, [])
        if tally.received > 0 { shared.queue.count(tally) }
        queued.accept(dispatched.counts, isStored: false)
    }

    /// The intake must have been entered; it is left when the queue has decided.
    private func append(
        _ batches: [Batch],
        identity: BatchIdentity?,
        _ dispatched: DispatchedLogs,
        _ queued: QueuedRequest
    ) {
        // Without a viewer, which is the usual case, the batches are not kept.
        let shown = shared.tail.flatMap { $0.isWatched ? ($0, batches) : nil }
        let (intake, queue, refused) = (shared.intake, shared.queue, shared.refusedRequests)
        // A filter redacts, so a refusal is kept without what may be part of a log.
        let hidesLogs = tables.routing.redacts
        let counts = dispatched.counts
        // A capture must have its record before the queue tells what became of the logs, which
        // follows the answers of the queue's own thread.
        let isTracked = batches.contains { $0.track != nil }
        let destination = batches.first?.stream.destination
        let destinations =
            batches.count > 1
            ? batches.compactMap { $0.isRequired ? $0.stream.destination : nil } : []
        queue.append(
            batches,
            identity: identity,
            sender: queued.request.sender?.name,
            tally: dispatched.tally(of: queued.figures.logs, batches),
            on: isTracked ? nil : queued.request.responder.thread
        ) { outcome in
            defer { intake.leave() }
            switch outcome {
            case .stored:
                if let (tail, batches) = shown { for batch in batches { tail.show(batch) } }
                queued.accept(counts, isStored: true)
            case .repeated(let first, let count): queued.repeated(first, count)
            case .refused(let admission):
                let full = destinations.first {
                    queue.admission(forDestination: $0) == .destinationFull
                }
                let refusal = Refusal(admission, of: destinations.isEmpty ? destination : full)
                queued.refuse(refusal, keptIn: refused, hidesLogs: hidesLogs)
            }
        }
    }
}

/// A request whose logs wait for the queue. When it has decided, the request is counted and
/// answered.
struct QueuedRequest: Sendable {
    let request: IncomingLogs
    let figures: IngestCounters.Figures
    let readers: CrossOrigin
    /// The dialect's answer when all logs are on disk, without receipt, CORS fields and label.
    let response: @Sendable (Acceptance) -> Response
    let answers: DeviceAnswers

    private var counters: IngestCounters { answers.counters }
    private var label: DeviceLabel { request.dialect.label }

    func accept(_ counts: DispatchedLogs.Counts, isStored: Bool) {
        let receipt = String(decoding: request.receipt, as: UTF8.self)
        counters.countAccepted(label, figures, since: request.start)
        counters.countRouted(counts)
        request.sender?.counter.countAccepted(figures)
        let acceptance = Acceptance(receipt: receipt, logs: figures.logs)
        send(acceptance, isStored ? .stored(receipt: receipt) : .nothingToStore)
    }

    /// `first` is the receipt of the request that is repeated.
    func repeated(_ first: [UInt8], _ logs: Int) {
        let receipt = String(decoding: first, as: UTF8.self)
        counters.countRepeated(label, since: request.start)
        send(Acceptance(receipt: receipt, logs: logs), .repeated(receipt: receipt))
    }

    func refuse(_ refusal: Refusal, keptIn kept: RefusedRequests, hidesLogs: Bool) {
        let response = answers.refused(refusal, .logs(request.dialect), readers)
        kept.keep(
            request.head,
            refusal,
            as: response.status,
            key: request.sender?.name,
            hidesLogs: hidesLogs
        )
        request.draft?.answered(response, .refused(refusal))
        request.responder.send(response)
    }

    private func send(_ acceptance: Acceptance, _ end: CaptureDraft.End) {
        var response = response(acceptance)
        response.receipt = acceptance.receipt
        readers.add(to: &response)
        response.label = label.rawValue
        request.draft?.answered(response, end)
        request.responder.send(response)
    }
}

extension Batch {
    /// The memory that the batch takes until it is stored.
    fileprivate var heldBytes: Int {
        dead.reduce(logs.bytes.count + stream.trailer.bytes.count) { $0 + $1.logs.bytes.count }
    }
}
