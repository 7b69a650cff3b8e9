import HTTP
import Synchronization
import System

/// Answers a change that was not made because the gateway stopped before its turn.
final class AnswerOnStop: Sendable {
    private let worker: SerialWorker
    private let deliver: @Sendable (Response) -> Void
    private let isGiven = Atomic<Bool>(false)

    init(_ worker: SerialWorker, _ deliver: @escaping @Sendable (Response) -> Void) {
        self.worker = worker
        self.deliver = deliver
    }

    deinit {
        guard worker.isEnding, !isGiven.load(ordering: .relaxed) else { return }
        deliver(HTTPProblem.stopping.response)
    }

    func give(_ response: Response) {
        isGiven.store(true, ordering: .relaxed)
        deliver(response)
    }
}

extension HTTPProblem {
    fileprivate static let stopping = HTTPProblem(
        503,
        "ServerBusy",
        "the gateway is stopping and changed nothing; retry after the restart"
    )
}
