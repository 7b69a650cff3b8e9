import Queue
import SLS
import System

/// Tells operators what happens to a destination: it counts each failure and each pause in the
/// status, keeps the reason beside each closed gate, and decides what is worth a journal line.
///
/// One outage closes many gates. It is counted and told once, for the widest of them.
final class DeliveryReporter {
    private let destination: String
    private let journal: Journal
    private let status: StatusPublisher
    /// Why the destination's own gate is closed.
    private(set) var pause: Pause?
    private var failuresInARow = 0
    private var failures = FailureNotices()
    /// Failures that pass without an end of their own: quotas, and packets that are refused for
    /// their content.
    private var passingFailures = FailureNotices()
    private var switches = EndpointNotices()

    init(_ destination: String, _ journal: Journal, _ status: StatusPublisher) {
        self.destination = destination
        self.journal = journal
        self.status = status
    }

    // MARK: - Failures

    func count(_ failure: DeliveryFailure, of outlet: DeliveryOutlet) {
        failuresInARow += 1
        status.failed(failure, of: outlet)
    }

    /// A failure that closed no gate and will be tried again.
    func failed(_ failure: DeliveryFailure, at endpoint: EndpointState, _ now: Moment) {
        tell(failure, Self.triedAgain, failures.failed(failure.kind, now), at: endpoint)
    }

    /// The same, after an answer. What is paused already was told.
    func failed(
        _ failure: DeliveryFailure,
        _ judgement: Judgement,
        of outlet: DeliveryOutlet,
        at endpoint: EndpointState,
        _ now: Moment
    ) {
        switch judgement.action {
        // The next request does not end it: a quota, or one packet's content.
        case .split, .relane, .slowDown, .resign, .readdress:
            let notice = passingFailures.failed(failure.kind, now)
            tell(failure, Self.triedAgain, notice, at: endpoint)
        case .again, .pause, .suspect:
            guard outlet.pause == nil, pause == nil, endpoint.pause == nil else { return }
            failed(failure, at: endpoint, now)
        case .acknowledge: break
        }
    }

    private static let triedAgain = "delivery failed and is tried again"

    /// A packet was stored, which ends failures in a row.
    func stored(in outlet: DeliveryOutlet) {
        if outlet.notices.succeeded() {
            journal.info(
                "logstore delivers again",
                ["destination": destination, "logstore": outlet.name.logstore]
            )
        }
        if failures.succeeded() {
            journal.info(
                "destination delivers again",
                ["destination": destination, "failures_in_a_row": failuresInARow]
            )
        }
        failuresInARow = 0
    }

    // MARK: - Pauses

    func count(_ pause: Pause) { status.paused(.failure(pause.failure.kind)) }

    func endpointChanged(
        _ endpoint: EndpointState,
        _ change: Gate.Change?,
        for cause: Pause?,
        _ now: Moment
    ) {
        switch change {
        case .closed:
            endpoint.pause = cause
            guard let cause else { return }
            count(cause)
            let notice = endpoint.notices.failed(cause.failure.kind, now)
            tell(cause.failure, "endpoint is paused", notice, at: endpoint)
        case .recovered:
            endpoint.pause = nil
            guard endpoint.notices.succeeded() else { return }
            journal.info("endpoint answers again", ["endpoint": endpoint.description])
        case nil: break
        }
    }

    /// SLS has asked to be left alone, or no longer does; the failure is told with the others.
    func quotaChanged(_ quota: ProjectQuota, _ change: Gate.Change?, for cause: Pause?) {
        guard let change else { return }
        quota.pause = change == .closed ? cause : nil
        if let pause = quota.pause { count(pause) }
    }

    /// `isWitness` tells that the request was sent after the gate's last change.
    func destinationChanged(
        _ change: Gate.Change?,
        isProbing: Bool,
        for cause: Pause?,
        isWitness: Bool,
        at endpoint: EndpointState,
        _ now: Moment
    ) {
        switch change {
        case .closed: pause(for: cause, at: endpoint, now)
        case .recovered: pause = nil
        case nil:
            // Still probing, and by now for another reason.
            guard isProbing, isWitness, let cause, cause.scope == .project,
                cause.failure.kind != pause?.failure.kind
            else { return }
            pause(for: cause, at: endpoint, now)
        }
    }

    func pause(
        for cause: Pause?,
        _ event: String = "destination is paused",
        at endpoint: EndpointState,
        _ now: Moment
    ) {
        pause = cause
        guard let cause else { return }
        count(cause)
        tell(cause.failure, event, failures.failed(cause.failure.kind, now), at: endpoint)
    }

    /// Other settings may have ended the reason.
    func forgetPause() { pause = nil }

    func outletChanged(
        _ outlet: DeliveryOutlet,
        _ change: Gate.Change?,
        for cause: Pause?,
        isWitness: Bool,
        at endpoint: EndpointState,
        _ now: Moment
    ) {
        switch change {
        case .closed: pause(outlet, for: cause, at: endpoint, now)
        case .recovered: outlet.pause = nil
        case nil:
            // Still probing, and by now for another reason: another remedy, another end.
            guard outlet.isProbing, isWitness, let cause, cause.scope == .logstore,
                cause.failure.kind != outlet.pause?.failure.kind || outlet.pause?.scope == .project
            else { return }
            pause(outlet, for: cause, at: endpoint, now)
        }
    }

    private func pause(
        _ outlet: DeliveryOutlet,
        for cause: Pause?,
        at endpoint: EndpointState,
        _ now: Moment
    ) {
        outlet.pause = cause
        // The pause of the whole destination is counted and told once, not for each logstore.
        guard let cause, cause.scope != .project else { return }
        count(cause)
        // So is the silence of an endpoint.
        guard cause.scope == .logstore || endpoint.pause == nil else { return }
        let notice = outlet.notices.failed(cause.failure.kind, now)
        tell(cause.failure, "logstore is paused", notice, at: endpoint)
    }

    // MARK: - Credential, endpoint and clock

    func credentialChanged(_ credential: String, _ change: DestinationCredential.Change) {
        switch change {
        case .lost(let reason):
            status.paused(.credential)
            journal.warning(
                "destination waits for its credential",
                ["destination": destination, "credential": credential, "reason": reason]
            )
        case .found:
            journal.info(
                "destination has its credential",
                ["destination": destination, "credential": credential]
            )
        case .first, .none: break
        }
    }

    /// The settings name other endpoints, whose first switches are worth a line again.
    func endpointsReplaced() { switches = EndpointNotices() }

    /// `failure` is the one that led to another endpoint.
    func switched(
        _ change: EndpointChoice.Switch,
        among endpoints: [EndpointState],
        because failure: DeliveryFailure?,
        _ now: Moment
    ) {
        let endpoint = endpoints[change.to].description
        let reason = change.explained(among: endpoints, failure)
        status.switched(to: endpoint, because: change.to == 0 ? nil : reason)
        guard let passedOver = switches.happened(now) else { return }
        switch change.reason {
        case .silence:
            journal.warning(
                "destination uses another endpoint",
                [
                    "destination": destination, "endpoint": endpoint, "reason": reason,
                    "passed_over": passedOver,
                ]
            )
        case .allSilent:
            journal.warning(
                "destination finds none of its endpoints",
                [
                    "destination": destination, "reason": reason,
                    "remedy": "check the network of this host, and the project",
                    "passed_over": passedOver,
                ]
            )
        case .first, .answered:
            journal.info(
                change.reason == .first
                    ? "destination uses its first endpoint again"
                    : "destination has found an endpoint",
                ["destination": destination, "endpoint": endpoint, "passed_over": passedOver]
            )
        }
    }

    func clockChanged(at endpoint: EndpointState, _ change: ServerClock.Change) {
        status.clockChanged(to: change.to)
        let seconds = change.to.components.seconds
        switch change.notice {
        case .hostIsFarOff:
            journal.warning(
                "the clock of this host is off",
                [
                    "endpoint": endpoint.description, "offset_seconds": seconds,
                    "remedy": "synchronise it (NTP); requests are signed with the time of SLS",
                ]
            )
        case .hostIsRightAgain:
            journal.info(
                "the clock of this host is right again",
                ["endpoint": endpoint.description, "offset_seconds": seconds]
            )
        case nil: break
        }
    }

    private func tell(
        _ failure: DeliveryFailure,
        _ event: String,
        _ passedOver: Int?,
        at endpoint: EndpointState
    ) {
        guard let passedOver else { return }
        journal.warning(
            event,
            [
                "destination": destination, "logstore": failure.logstore,
                "endpoint": endpoint.description,
                "kind": failure.kind.rawValue, "result": failure.result.name,
                "result_number": failure.result.number,
                "status": failure.status.map { "\($0)" } ?? "none",
                "code": failure.code ?? "none", "message": failure.message,
                "request_id": failure.requestID ?? "none", "remedy": failure.remedy,
                "passed_over": passedOver,
            ]
        )
    }
}

extension EndpointChoice.Switch {
    /// Why requests use another endpoint, in words. `failure` is the last one at the endpoint
    /// before.
    fileprivate func explained(
        among endpoints: [EndpointState],
        _ failure: DeliveryFailure?
    ) -> String {
        let lastFailure = failure?.summary ?? "no answer"
        let before = endpoints[from].description
        return switch reason {
        case .silence(let failures) where failures > 1:
            "\(before) failed \(failures) times in a row (\(lastFailure)); it is probed"
        case .silence: "\(before) does not answer (\(lastFailure)); it is probed"
        case .allSilent: "none of the endpoints answers (\(lastFailure)); they are tried in turn"
        case .answered, .first: "\(endpoints[0].description) does not answer; it is probed"
        }
    }
}
