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
        sentBytes: Int,
        _ pending: QueuedRequest,
        _ draft: inout CaptureDraft?
    ) throws(Refusal) {
        let (figures, responder) = (pending.figures, pending.responder)
        // Before anything is stored: after that the answer is owed.
        if taken.answerBytes > 0 {
            let bytes = taken.answerBytes + HTTPServer.Limits.answerHeadBytes
            let largest = shared.limits.http.largestAnswerBytes
            guard responder.reserve(answerBytes: bytes, largest: largest) else {
                throw .tooManyAnswers
            }
        }
        let identity = taken.identity.map {
            BatchIdentity(digest: $0, receipt: pending.receipt, logs: figures.logs)
        }
        // Filters and routes may leave nothing. The queue remembers such a request if a repetition
        // can be recognised, so that its logs count once; otherwise nothing has to be written.
        let isStored = dispatched.parts.contains { $0.logs.count > 0 }
        guard isStored || identity != nil && figures.logs > 0 else {
            return try answerWithoutLogs(dispatched, pending, draft)
        }
        var batches: [Batch] = []
        for part in dispatched.parts where part.logs.count > 0 { batches.append(try part.batch()) }
        // The inflated batches wait for the commit, and count like the body.
        let inflated = batches.reduce(0) { $0 + $1.heldBytes }
        guard responder.hold(inflated - sentBytes) else { throw .tooMuchInFlight }
        // So does what a capture keeps, but no request is refused for its sake.
        if let bytes = draft?.heldBytes, !responder.hold(bytes, isNeeded: false) {
            draft?.missed()
            draft = nil
        }
        draft?.track(&batches)
        guard shared.intake.enter() else { throw .draining }
        append(batches, identity, dispatched, pending, draft)
    }

    /// A question without logs is answered while the gateway drains.
    private func answerWithoutLogs(
        _ dispatched: DispatchedLogs,
        _ pending: QueuedRequest,
        _ draft: CaptureDraft?
    ) throws(Refusal) {
        let hasLogs = pending.figures.logs > 0
        guard !hasLogs || shared.intake.enter() else { throw .draining }
        defer { if hasLogs { shared.intake.leave() } }
        let tally = dispatched.tally(of: pending.figures.logs, [])
        if tally.received > 0 { shared.queue.count(tally) }
        pending.accepted(dispatched.counts, draft, isStored: false)
    }

    /// The intake must have been entered; it is left when the queue has decided.
    private func append(
        _ batches: [Batch],
        _ identity: BatchIdentity?,
        _ dispatched: DispatchedLogs,
        _ pending: QueuedRequest,
        _ draft: CaptureDraft?
    ) {
        // Without a viewer, which is the usual case, the batches are not kept.
        let shown = shared.tail.flatMap { $0.isWatched ? ($0, batches) : nil }
        let (intake, queue, refused) = (shared.intake, shared.queue, shared.refusedRequests)
        // A filter redacts, so a refusal is noted without what may be part of a log.
        let hidesLogs = tables.routing.redacts
        let counts = dispatched.counts
        let waiting = draft.map { WaitingDraft($0) }
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
            sender: pending.sender?.name,
            tally: dispatched.tally(of: pending.figures.logs, batches),
            on: isTracked ? nil : pending.responder.thread
        ) { outcome in
            defer { intake.leave() }
            switch outcome {
            case .stored:
                if let (tail, batches) = shown { for batch in batches { tail.show(batch) } }
                pending.accepted(counts, waiting?.draft, isStored: true)
            case .repeated(let first, let count):
                pending.repeated(first, count, waiting?.draft)
            case .refused(let admission):
                let full = destinations.first {
                    queue.admission(forDestination: $0) == .destinationFull
                }
                let refusal = Refusal(admission, of: destinations.isEmpty ? destination : full)
                pending.refused(
                    refusal,
                    waiting?.draft,
                    notedIn: refused,
                    hidesLogs: hidesLogs
                )
            }
        }
    }
}

/// A request whose logs wait for the queue. When it has decided, the request is counted and
/// answered.
struct QueuedRequest: Sendable {
    let head: RequestHead
    let dialect: any LogDialect
    let sender: DeviceSender?
    let receipt: [UInt8]
    let figures: IngestCounters.Figures
    let start: Moment
    let readers: CrossOrigin
    /// The dialect's answer when all logs are on disk.
    let response: @Sendable (Acceptance) -> Response
    let answers: DeviceAnswers
    let counters: IngestCounters
    let responder: Responder

    func accepted(_ counts: DispatchedLogs.Counts, _ draft: CaptureDraft?, isStored: Bool) {
        let receipt = String(decoding: receipt, as: UTF8.self)
        counters.countAccepted(dialect.label, figures, since: start)
        counters.countRouted(counts)
        sender?.counter.countAccepted(figures)
        let acceptance = Acceptance(receipt: receipt, logs: figures.logs)
        send(acceptance, draft, isStored ? .stored(receipt: receipt) : .nothingToStore)
    }

    /// `first` is the receipt of the request that is repeated.
    func repeated(_ first: [UInt8], _ logs: Int, _ draft: CaptureDraft?) {
        let receipt = String(decoding: first, as: UTF8.self)
        counters.countRepeated(dialect.label, since: start)
        send(Acceptance(receipt: receipt, logs: logs), draft, .repeated(receipt: receipt))
    }

    func refused(
        _ refusal: Refusal,
        _ draft: CaptureDraft?,
        notedIn noted: RefusedRequests,
        hidesLogs: Bool
    ) {
        let response = answers.refused(refusal, .logs(dialect), readers)
        noted.note(
            head,
            refusal,
            as: response.status,
            key: sender?.name,
            hidesLogs: hidesLogs
        )
        draft?.answered(response, .refused(refusal))
        responder.send(response)
    }

    private func send(
        _ acceptance: Acceptance,
        _ draft: CaptureDraft?,
        _ end: CaptureDraft.End
    ) {
        let response = answers.accepted(response(acceptance), dialect.label, acceptance, readers)
        draft?.answered(response, end)
        responder.send(response)
    }
}

extension Batch {
    /// The memory that the batch takes until it is stored.
    fileprivate var heldBytes: Int {
        dead.reduce(logs.bytes.count + stream.trailer.bytes.count) { $0 + $1.logs.bytes.count }
    }
}
