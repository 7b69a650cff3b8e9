import System

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
