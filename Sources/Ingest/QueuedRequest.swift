import HTTP
import Logs
import Queue
import System

/// A request whose logs wait for the queue. When it has decided, the request is counted and
/// answered.
final class QueuedRequest: AppendingRequest {
    /// What the outcome may have to tell of the logs.
    struct Stored: Sendable {
        let tally: IntakeTally
        let counts: DispatchedLogs.Counts
        /// For viewers of the tail; empty without one, which is the usual case.
        let shown: [Batch]
        let firstDestination: String?
        /// The required destinations of several batches.
        let destinations: [String]
        /// A capture must have its record before the queue tells what became of the logs, which
        /// follows the answers of the queue's own thread.
        let isTracked: Bool

        init(_ batches: [Batch], _ dispatched: DispatchedLogs, logs: Int, isWatched: Bool) {
            tally = dispatched.tally(of: logs, batches)
            counts = dispatched.counts
            shown = isWatched ? batches : []
            firstDestination = batches.first?.stream.destination
            destinations =
                batches.count > 1
                ? batches.compactMap { $0.isRequired ? $0.stream.destination : nil } : []
            isTracked = batches.contains { $0.track != nil }
        }
    }

    let identity: BatchIdentity?
    private let request: IncomingLogs
    private let figures: IngestCounters.Figures
    private let stored: Stored
    private let readers: CrossOrigin
    /// The dialect's answer when all logs are on disk, without receipt, CORS fields and label.
    private let response: @Sendable (Acceptance) -> Response
    private let answers: DeviceAnswers
    /// A filter redacts, so a refusal is kept without what may be part of a log.
    private let hidesLogs: Bool

    init(
        _ request: IncomingLogs,
        _ stored: Stored,
        identity: BatchIdentity?,
        figures: IngestCounters.Figures,
        readers: CrossOrigin,
        hidesLogs: Bool,
        answers: DeviceAnswers,
        response: @escaping @Sendable (Acceptance) -> Response
    ) {
        self.request = request
        self.stored = stored
        self.identity = identity
        self.figures = figures
        self.readers = readers
        self.hidesLogs = hidesLogs
        self.answers = answers
        self.response = response
    }

    var sender: String? { request.sender?.name }
    var tally: IntakeTally { stored.tally }
    var thread: (any CallbackThread)? { stored.isTracked ? nil : request.responder.thread }

    private var shared: DeviceHandler.Shared { answers.shared }
    private var label: DeviceLabel { request.dialect.label }

    func decided(_ outcome: AppendOutcome) {
        defer { shared.intake.leave() }
        switch outcome {
        case .stored:
            for batch in stored.shown { shared.tail?.show(batch) }
            accept(isStored: true)
        case .repeated(let first, let count): repeated(first, count)
        case .refused(let admission):
            let full = stored.destinations.first {
                shared.queue.admission(forDestination: $0) == .destinationFull
            }
            let destination = stored.destinations.isEmpty ? stored.firstDestination : full
            refuse(Refusal(admission, of: destination))
        }
    }

    /// `isStored` is false if no log was left to store.
    func accept(isStored: Bool) {
        shared.counters.countAccepted(label, figures, since: request.start)
        shared.counters.countRouted(stored.counts)
        request.sender?.counter.countAccepted(figures)
        let acceptance = Acceptance(receipt: request.receipt, logs: figures.logs)
        send(acceptance) { isStored ? .stored(receipt: $0) : .nothingToStore }
    }

    /// `first` is the receipt of the request that is repeated.
    private func repeated(_ first: [UInt8], _ logs: Int) {
        shared.counters.countRepeated(label, since: request.start)
        send(Acceptance(receipt: first, logs: logs)) { .repeated(receipt: $0) }
    }

    private func refuse(_ refusal: Refusal) {
        let response = answers.refused(refusal, .logs(request.dialect), readers)
        shared.refusedRequests.keep(
            request.head,
            refusal,
            as: response.status,
            key: request.sender?.name,
            hidesLogs: hidesLogs
        )
        request.draft?.answered(response, .refused(refusal))
        request.responder.send(response)
    }

    private func send(_ acceptance: Acceptance, _ end: (String) -> CaptureDraft.End) {
        var response = response(acceptance)
        response.receipt = acceptance.receipt
        readers.add(to: &response)
        response.label = label.rawValue
        request.draft?.answered(response, end(acceptance.receiptText))
        request.responder.send(response)
    }
}
