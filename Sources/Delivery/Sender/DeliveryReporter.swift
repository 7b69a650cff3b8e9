import Queue
import SLS
import System

/// Tells operators what happens to a destination. It counts each failure and each pause in the
/// status, and decides which of them are worth a line in the journal.
final class DeliveryReporter {
    private let destination: String
    private let journal: Journal
    private let status: StatusPublisher
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
        guard let notice = failures.failed(failure.kind, now) else { return }
        tell(failure, "delivery failed and is tried again", notice, at: endpoint)
    }

    /// A failure that the next request does not end: a quota, or one packet's content.
    func failedInPassing(_ failure: DeliveryFailure, at endpoint: EndpointState, _ now: Moment) {
        guard let notice = passingFailures.failed(failure.kind, now) else { return }
        tell(failure, "delivery failed and is tried again", notice, at: endpoint)
    }

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

    func countPause(_ reason: PauseReason) {
        status.paused(reason)
    }

    func countPause(_ pause: Pause) {
        countPause(.failure(pause.failure.kind))
    }

    func paused(_ outlet: DeliveryOutlet, _ pause: Pause, at endpoint: EndpointState, _ now: Moment)
    {
        guard let notice = outlet.notices.failed(pause.failure.kind, now) else { return }
        tell(pause.failure, "logstore is paused", notice, at: endpoint)
    }

    func pausedDestination(
        _ pause: Pause,
        _ event: String = "destination is paused",
        at endpoint: EndpointState,
        _ now: Moment
    ) {
        countPause(pause)
        guard let notice = failures.failed(pause.failure.kind, now) else { return }
        tell(pause.failure, event, notice, at: endpoint)
    }

    func paused(_ endpoint: EndpointState, _ pause: Pause, _ now: Moment) {
        countPause(pause)
        guard let notice = endpoint.notices.failed(pause.failure.kind, now) else { return }
        tell(pause.failure, "endpoint is paused", notice, at: endpoint)
    }

    func recovered(_ endpoint: EndpointState) {
        guard endpoint.notices.succeeded() else { return }
        journal.info("endpoint answers again", ["endpoint": endpoint.description])
    }

    // MARK: - Credential, endpoint and clock

    func credentialChanged(_ credential: String, _ change: CredentialAccess.Change) {
        switch change {
        case .lost(let reason):
            countPause(.credential)
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
        _ notice: FailureNotices.Notice,
        at endpoint: EndpointState
    ) {
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
                "passed_over": notice.passedOver,
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

/// Why gates are closed. It keeps the reason beside each gate, and reports when a pause begins and
/// ends.
///
/// One outage closes many gates. It is counted and told once, for the widest of them.
final class Pauses {
    private let reporter: DeliveryReporter
    /// Why the destination's own gate is closed.
    private(set) var ofDestination: Pause?

    init(_ reporter: DeliveryReporter) {
        self.reporter = reporter
    }

    // MARK: - Gates that destinations share

    func note(
        _ change: Gate.Change?,
        of endpoint: EndpointState,
        _ cause: Pause?,
        _ now: Moment
    ) {
        switch change {
        case .closed:
            endpoint.pause = cause
            if let cause { reporter.paused(endpoint, cause, now) }
        case .recovered:
            endpoint.pause = nil
            reporter.recovered(endpoint)
        case nil: break
        }
    }

    /// SLS has asked to be left alone, or no longer does; the failure is told with the others.
    func note(_ change: Gate.Change?, of quota: ProjectQuota, _ cause: Pause?) {
        guard let change else { return }
        quota.pause = change == .closed ? cause : nil
        if let pause = quota.pause { reporter.countPause(pause) }
    }

    // MARK: - The destination

    /// `isWitness` tells that the request was sent after the gate's last change.
    func noteDestination(
        _ change: Gate.Change?,
        isProbing: Bool,
        _ cause: Pause?,
        isWitness: Bool,
        at endpoint: EndpointState,
        _ now: Moment
    ) {
        switch change {
        case .closed: pause(for: cause, at: endpoint, now)
        case .recovered: ofDestination = nil
        case nil:
            // Still probing, and by now for another reason.
            guard isProbing, isWitness, let cause, cause.scope == .project,
                cause.failure.kind != ofDestination?.failure.kind
            else { return }
            pause(for: cause, at: endpoint, now)
        }
    }

    private func pause(for cause: Pause?, at endpoint: EndpointState, _ now: Moment) {
        ofDestination = cause
        if let cause { reporter.pausedDestination(cause, at: endpoint, now) }
    }

    func pausedForCredential(_ cause: Pause, at endpoint: EndpointState, _ now: Moment) {
        ofDestination = cause
        reporter.pausedDestination(
            cause,
            "destination is paused: its credential was refused to another one",
            at: endpoint,
            now
        )
    }

    /// Other settings may have ended the reason.
    func forgetDestination() { ofDestination = nil }

    // MARK: - Outlets

    func note(
        _ change: Gate.Change?,
        of outlet: DeliveryOutlet,
        _ cause: Pause?,
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
        reporter.countPause(cause)
        // So is the silence of an endpoint.
        guard cause.scope == .logstore || endpoint.pause == nil else { return }
        reporter.paused(outlet, cause, at: endpoint, now)
    }

    /// A failure that closed no gate.
    func report(
        _ failure: DeliveryFailure,
        _ judgement: Judgement,
        of outlet: DeliveryOutlet,
        at endpoint: EndpointState,
        _ now: Moment
    ) {
        switch judgement.action {
        case .split, .relane, .slowDown, .resign, .readdress:
            reporter.failedInPassing(failure, at: endpoint, now)
        case .again, .pause, .suspect:
            // What is paused already was told.
            guard outlet.pause == nil, ofDestination == nil, endpoint.pause == nil else { return }
            reporter.failed(failure, at: endpoint, now)
        case .acknowledge: break
        }
    }
}
