import SLS
import System

/// Which endpoint requests use, and what time it is there.
extension DestinationSender {
    /// Notices what happened to the endpoints since the last turn, maybe because of other destinations.
    func lookAtEndpoints(_ now: Moment) {
        if endpoints.hasRecovered() { reopen(now) { $0.scope == .endpoint } }
        if let change = endpoints.leaveClosed(now) {
            switched(change, because: endpoints.endpoints[change.from].pause?.failure, now)
        }
    }

    /// Requests use another endpoint. What was paused for want of answers is worth a request there. `failure` is
    /// the one that led to it.
    func switched(
        _ change: EndpointChoice.Switch,
        because failure: DeliveryFailure?,
        _ now: Moment
    ) {
        let isUnheard = { (pause: Pause) in
            pause.scope == .endpoint || pause.failure.kind == .network
        }
        if let pause, isUnheard(pause) { project.reopen(now) }
        reopen(now, where: isUnheard)
        let why = reason(for: change, failure)
        tell(change, why, now)
        let endpoint = endpoint.key.endpoint.description
        let reason = change.to == 0 ? nil : why
        status.withLock { status in
            status.endpoint = endpoint
            status.endpointReason = reason
        }
    }

    private func reason(for change: EndpointChoice.Switch, _ failure: DeliveryFailure?) -> String {
        let lastFailure = failure?.summary ?? "no answer"
        let before = endpoints.endpoints[change.from].key.endpoint
        return switch change.reason {
        case .silence(let failures) where failures > 1:
            "\(before) failed \(failures) times in a row (\(lastFailure)); it is probed"
        case .silence: "\(before) does not answer (\(lastFailure)); it is probed"
        case .allSilent: "none of the endpoints answers (\(lastFailure)); they are tried in turn"
        case .answered, .first:
            "\(endpoints.endpoints[0].key.endpoint) does not answer; it is probed"
        }
    }

    private func tell(_ change: EndpointChoice.Switch, _ reason: String, _ now: Moment) {
        guard let passedOver = endpoints.notices.happened(now) else { return }
        let (name, journal) = (settings.name, surroundings.journal)
        let endpoint = endpoints.endpoints[change.to].key.endpoint.description
        switch change.reason {
        case .silence:
            journal.warning(
                "destination uses another endpoint",
                [
                    "destination": name, "endpoint": endpoint, "reason": reason,
                    "passed_over": passedOver,
                ]
            )
        case .allSilent:
            journal.warning(
                "destination finds none of its endpoints",
                [
                    "destination": name, "reason": reason,
                    "remedy": "check the network of this host, and the project",
                    "passed_over": passedOver,
                ]
            )
        case .first:
            journal.info(
                "destination uses its first endpoint again",
                ["destination": name, "endpoint": endpoint, "passed_over": passedOver]
            )
        case .answered:
            journal.info(
                "destination has found an endpoint",
                ["destination": name, "endpoint": endpoint, "passed_over": passedOver]
            )
        }
    }

    /// Takes the time from an answer, and gives the present one as SLS has it.
    func learnTime(from answer: SLSAnswer, _ load: Load) -> WallTime {
        let (endpoint, host) = (load.endpoint, surroundings.now())
        let change = endpoint.clock.learn(
            from: answer,
            sent: load.signed,
            received: host,
            assuming: settings.clockOffset
        )
        if let change {
            // Others go there, too.
            agenda.noteEveryone()
            status.withLock { $0.clockOffset = change.to }
            if let notice = change.notice { tell(notice, change.to, endpoint) }
        }
        return endpoint.clock.time(at: host, assuming: settings.clockOffset)
    }

    private func tell(_ notice: ServerClock.Notice, _ offset: Duration, _ endpoint: EndpointState) {
        let endpoint = endpoint.key.endpoint.description
        let seconds = offset.components.seconds
        switch notice {
        case .hostIsFarOff:
            surroundings.journal.warning(
                "the clock of this host is off",
                [
                    "endpoint": endpoint, "offset_seconds": seconds,
                    "remedy": "synchronise it (NTP); requests are signed with the time of SLS",
                ]
            )
        case .hostIsRightAgain:
            surroundings.journal.info(
                "the clock of this host is right again",
                ["endpoint": endpoint, "offset_seconds": seconds]
            )
        }
    }
}
