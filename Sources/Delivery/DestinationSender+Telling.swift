import Queue
import SLS
import System

extension DestinationSender {
    /// The credential, when there is one just now that can be used.
    func credential(_ now: Moment) -> Credential? {
        let (credential, change) = access.look(now, surroundings.credentials)
        switch change {
        case .lost(let reason):
            countPause(.credential)
            surroundings.journal.warning(
                "destination waits for its credential",
                ["destination": settings.name, "credential": settings.credential, "reason": reason]
            )
        case .found:
            surroundings.journal.info(
                "destination has its credential",
                ["destination": settings.name, "credential": settings.credential]
            )
        case .first, .none: break
        }
        return credential
    }

    func failure(_ judgement: Judgement, of outlet: DeliveryOutlet) -> DeliveryFailure {
        DeliveryFailure(
            kind: judgement.kind,
            result: judgement.result,
            logstore: outlet.name.logstore,
            status: judgement.status,
            code: judgement.code,
            message: judgement.message,
            requestID: judgement.requestID,
            remedy: judgement.remedy,
            at: surroundings.now()
        )
    }

    func count(_ failure: DeliveryFailure, of outlet: DeliveryOutlet) {
        failuresInARow += 1
        let inARow = failuresInARow
        outlet.status.failures[failure.kind, default: 0] += 1
        outlet.status.lastFailure = failure
        status.withLock { status in
            status.failures[failure.kind, default: 0] += 1
            status.results[failure.result, default: 0] += 1
            status.failuresInARow = inARow
            status.lastFailure = failure
        }
    }

    func countPause(_ reason: PauseReason) {
        status.withLock { $0.pauses[reason, default: 0] += 1 }
    }

    /// A gate closed.
    func countPause(_ cause: Pause?) {
        if let cause { countPause(.failure(cause.failure.kind)) }
    }

    /// A failure that closed no gate.
    func remark(
        _ failure: DeliveryFailure,
        _ judgement: Judgement,
        _ outlet: DeliveryOutlet,
        _ now: Moment
    ) {
        switch judgement.action {
        case .split, .relane, .slowDown, .resign:
            if let notice = remarks.failed(failure.kind, now) { tell(failure, notice: notice) }
        case .again, .pause, .suspect:
            // What is paused already was told.
            guard outlet.pause == nil, pause == nil, endpoint.pause == nil else { return }
            if let notice = notices.failed(failure.kind, now) { tell(failure, notice: notice) }
        case .acknowledge: break
        }
    }

    func tellRecovery(of outlet: DeliveryOutlet, _ failuresBefore: Int) {
        if outlet.notices.succeeded() {
            surroundings.journal.info(
                "logstore delivers again",
                ["destination": settings.name, "logstore": outlet.name.logstore]
            )
        }
        if notices.succeeded() {
            surroundings.journal.info(
                "destination delivers again",
                ["destination": settings.name, "failures_in_a_row": failuresBefore]
            )
        }
    }

    func tell(
        _ failure: DeliveryFailure,
        _ event: String = "delivery failed and is tried again",
        notice: FailureNotices.Notice,
        of endpoint: EndpointState? = nil
    ) {
        surroundings.journal.warning(
            event,
            [
                "destination": settings.name, "logstore": failure.logstore,
                "endpoint": (endpoint ?? self.endpoint).key.endpoint.description,
                "kind": failure.kind.rawValue, "result": failure.result.name,
                "result_number": failure.result.number,
                "status": failure.status.map { "\($0)" } ?? "none",
                "code": failure.code ?? "none", "message": failure.message,
                "request_id": failure.requestID ?? "none", "remedy": failure.remedy,
                "passed_over": notice.passedOver,
            ]
        )
    }
}
