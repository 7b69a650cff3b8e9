import Queue
import SLS
import System

extension Destination {
    /// The credential, when there is one just now that can be used.
    func credential(_ now: Moment) -> Credential? {
        let (credential, change) = access.look(now, surroundings.credentials)
        switch change {
        case .lost(let reason):
            status.withLock { $0.state = .waitingForCredential(reason: reason) }
            surroundings.journal.warning(
                "destination waits for its credential",
                ["destination": settings.name, "credential": settings.credential, "reason": reason]
            )
        case .found:
            status.withLock { $0.state = .running }
            surroundings.journal.info(
                "destination has its credential",
                ["destination": settings.name, "credential": settings.credential]
            )
        case .first: status.withLock { $0.state = .running }
        case .none: break
        }
        return credential
    }

    /// The packet's request; nil when there is none, and the lease is settled already.
    func request(
        for lease: Lease,
        _ credential: Credential,
        _ now: Moment
    ) -> SLSOutput.Request? {
        let blocks: [StoredBlock]
        do throws(QueueError) {
            blocks =
                if let recent = lease.packet.recent { recent } else {
                    try surroundings.source.blocks(of: lease.packet)
                }
        } catch {
            if error.kind == .corrupt {
                void(error.description)
            } else {
                let remedy = "check the disk that holds the queue"
                failed(
                    lease,
                    .init(
                        kind: .queue,
                        result: .persistentError,
                        message: error.description,
                        remedy: remedy
                    ),
                    now
                )
            }
            return nil
        }
        do throws(SLSOutput.Unsendable) {
            return try output.request(
                for: lease.packet,
                blocks,
                by: credential,
                at: surroundings.now()
            )
        } catch {
            hold(lease, error.reason, now)
            return nil
        }
    }

    func stored(_ lease: Lease, _ bodyBytes: Int) {
        leases.ended()
        surroundings.source.acknowledge(lease.packet)
        let failuresBefore = failuresInARow
        failuresInARow = 0
        let time = surroundings.now()
        status.withLock { status in
            status.sentPackets += 1
            status.sentLogs += lease.packet.logCount
            status.sentRawBytes += lease.packet.rawBytes
            status.sentWireBytes += bodyBytes
            status.failuresInARow = 0
            status.lastSuccess = time
        }
        // An outage is over, not just a single failure: what waits because of it need not wait up to
        // a minute more. Spread over a second, so that it does not all come at once.
        if failuresBefore >= settings.concurrency {
            leases.hasten([.network, .notSLS, .server]) {
                .now + .milliseconds(Int.random(in: 0...1000))
            }
        }
        if notices.succeeded() {
            surroundings.journal.info(
                "destination delivers again",
                ["destination": settings.name, "failures_in_a_row": failuresBefore]
            )
        }
    }

    func failed(_ lease: Lease, _ reason: Judge.Reason, _ now: Moment) {
        let failure = DeliveryFailure(
            kind: reason.kind,
            result: reason.result,
            logstore: lease.packet.stream.logstore,
            status: reason.status,
            code: reason.code,
            message: reason.message,
            requestID: reason.requestID,
            remedy: reason.remedy,
            at: surroundings.now()
        )
        failuresInARow += 1
        let inARow = failuresInARow
        status.withLock { status in
            status.failures[failure.kind, default: 0] += 1
            status.failuresInARow = inARow
            status.lastFailure = failure
        }
        if let notice = notices.failed(failure.kind, now) { tell(failure, notice) }
        var lease = lease
        lease.failures += 1
        lease.lastFailure = failure.kind
        let wait = Backoff.retry.wait(after: lease.failures, random: .random(in: 0...1))
        leases.postponed(lease, until: now + wait)
    }

    /// The packet stays in the queue, where a person can look at it; it is offered again after the
    /// next start.
    private func hold(_ lease: Lease, _ reason: String, _ now: Moment) {
        leases.ended()
        status.withLock { status in
            status.held.packets += 1
            status.held.logs += lease.packet.logCount
            status.held.reason = reason
        }
        guard let notice = heldNotices.failed(.content, now) else { return }
        surroundings.journal.error(
            "packet cannot be sent and is held in the queue",
            [
                "destination": settings.name, "logstore": lease.packet.stream.logstore,
                "packet": lease.packet.packID, "logs": lease.packet.logCount, "reason": reason,
                "passed_over": notice.passedOver,
            ]
        )
    }

    /// The queue has voided the packet and tells so itself; there is nothing to give back.
    private func void(_ reason: String) {
        leases.ended()
        status.withLock { status in
            status.voided.packets += 1
            status.voided.reason = reason
        }
    }

    private func tell(_ failure: DeliveryFailure, _ notice: FailureNotices.Notice) {
        surroundings.journal.warning(
            "delivery failed and is tried again",
            [
                "destination": settings.name, "logstore": failure.logstore,
                "kind": failure.kind.rawValue, "status": failure.status.map { "\($0)" } ?? "none",
                "code": failure.code ?? "none", "message": failure.message,
                "request_id": failure.requestID ?? "none", "remedy": failure.remedy,
                "passed_over": notice.passedOver,
            ]
        )
    }
}
