import Queue
import SLS
import System

extension DestinationSender {
    /// Gives back the passes of a request, each with what its answer says about its gate, and tells what
    /// that changes.
    func leave(
        _ load: Load,
        _ judgement: Judgement,
        _ failure: DeliveryFailure?,
        isConvicted: Bool,
        _ now: Moment
    ) {
        places.giveBack(isProbe: load.passes.logstore.isProbe)
        let isExcused = isExcused(judgement, load)
        func verdict(_ scope: GateScope) -> Gate.Verdict {
            guard isExcused else {
                return judgement.verdict(for: scope, isOutletProven: isConvicted)
            }
            // SLS answered, so the endpoint works, whatever is refused.
            return scope == .endpoint && judgement.requestID != nil ? .reached : .none
        }
        func wait(_ scope: GateScope) -> Duration? {
            isExcused ? nil : judgement.retryAfter(for: scope)
        }
        func random() -> Double { .random(in: 0...1) }
        let outlet = load.outlet
        // What was sent before the last change tells no reason for what is closed now.
        let isWitness = !isExcused && load.passes.logstore.epoch == outlet.gate.epoch
        let isProjectWitness = !isExcused && load.passes.project.epoch == project.epoch
        let ofOutlet = outlet.gate.leave(
            load.passes.logstore,
            verdict(.logstore),
            retryAfter: wait(.logstore),
            now,
            random: random()
        )
        let ofProject = project.leave(
            load.passes.project,
            verdict(.project),
            retryAfter: wait(.project),
            now,
            random: random()
        )
        let ofQuota = load.quota.gate.leave(
            load.passes.quota,
            verdict(.quota),
            retryAfter: wait(.quota),
            now,
            random: random()
        )
        let ofEndpoint = load.endpoint.leave(
            load.passes.endpoint,
            judgement,
            verdict(.endpoint),
            of: outlet.name,
            now
        )
        // Who stays there need not wait for one that went elsewhere.
        if !endpoints.leads(to: load.endpoint) { load.endpoint.forget(outlet.name) }
        load.quota.waiters.wake(agenda)
        load.endpoint.waiters.wake(agenda)
        if ofQuota != nil || ofEndpoint != nil { agenda.noteEveryone() }
        let cause = failure.map { Pause(failure: $0, scope: judgement.scope ?? .logstore) }
        changed(load.endpoint, ofEndpoint, cause, now)
        changed(load.quota, ofQuota, cause)
        changedProject(ofProject, cause, isWitness: isProjectWitness, now)
        changed(outlet, ofOutlet, cause, isWitness: isWitness, now)
        guard let failure, ![ofOutlet, ofProject, ofEndpoint].contains(.closed), !isExcused else {
            return
        }
        remark(failure, judgement, outlet, now)
    }

    /// Whether a refusal says nothing about any gate: it was for another credential.
    private func isExcused(_ judgement: Judgement, _ load: Load) -> Bool {
        guard judgement.kind == .unauthorized else { return false }
        return surroundings.credentials.credential(settings.credential) != load.credential
    }

    private func changed(
        _ outlet: DeliveryOutlet,
        _ change: Gate.Change?,
        _ cause: Pause?,
        isWitness: Bool,
        _ now: Moment
    ) {
        switch change {
        case .closed:
            outlet.pause = cause
            // The pause of the whole destination is counted and told once, not for each logstore.
            guard cause?.scope != .project else { return }
            countPause(cause)
            // So is the silence of an endpoint.
            guard let cause, cause.scope == .logstore || endpoint.pause == nil else { return }
            if let notice = outlet.notices.failed(cause.failure.kind, now) {
                tell(cause.failure, "logstore is paused", notice: notice)
            }
        case .recovered: outlet.pause = nil
        case nil:
            // Still probing, and by now for another reason: another remedy, another end.
            guard outlet.gate.probing != nil, let cause, cause.scope == .logstore, isWitness,
                cause.failure.kind != outlet.pause?.failure.kind || outlet.pause?.scope == .project
            else { return }
            changed(outlet, .closed, cause, isWitness: true, now)
        }
    }

    private func changedProject(
        _ change: Gate.Change?,
        _ cause: Pause?,
        isWitness: Bool,
        _ now: Moment
    ) {
        switch change {
        case .closed:
            pause = cause
            countPause(cause)
            guard let cause else { return }
            if let notice = notices.failed(cause.failure.kind, now) {
                tell(cause.failure, "destination is paused", notice: notice)
            }
        case .recovered:
            pause = nil
            retryLogstoresRefusedWithDestination(now)
        case nil:
            guard project.probing != nil, let cause, cause.scope == .project, isWitness,
                cause.failure.kind != pause?.failure.kind
            else { return }
            changedProject(.closed, cause, isWitness: true, now)
        }
    }

    /// The credential is good, so each logstore that was refused together with it tries once more at once. One that is
    /// refused again waits as long as before.
    private func retryLogstoresRefusedWithDestination(_ now: Moment) {
        for outlet in outlets.values
        where outlet.gate.probing != nil && outlet.pause?.scope == .project {
            outlet.gate.hastenProbe(to: now)
            turns.rouse(outlet)
            touch(outlet)
        }
    }

    /// SLS has asked to be left alone, or no longer does; the failure is told with the others.
    private func changed(_ quota: ProjectQuota, _ change: Gate.Change?, _ cause: Pause?) {
        guard let change else { return }
        quota.pause = change == .closed ? cause : nil
        if change == .closed { countPause(cause) }
    }

    private func changed(
        _ endpoint: EndpointState,
        _ change: Gate.Change?,
        _ cause: Pause?,
        _ now: Moment
    ) {
        switch change {
        case .closed:
            endpoint.pause = cause
            countPause(cause)
            guard let cause else { return }
            if let notice = endpoint.notices.failed(cause.failure.kind, now) {
                tell(cause.failure, "endpoint is paused", notice: notice, of: endpoint)
            }
        case .recovered:
            endpoint.pause = nil
            guard endpoint.notices.succeeded() else { return }
            surroundings.journal.info(
                "endpoint answers again",
                ["endpoint": endpoint.key.endpoint.description]
            )
        case nil: break
        }
    }
}
