import HTTPClient
import Queue
import SLS
import System

extension DestinationSender {
    /// Takes back a transfer that has ended.
    func finish(_ transfer: Transfer, _ carried: Load, _ outcome: TransferOutcome) {
        flying[ObjectIdentifier(transfer)] = nil
        let body = transfer.body
        letGo(body: body.count)
        var load = carried
        if body.isRepeated {
            // curl had no answer to the first one.
            load.lease.mayBeStored = true
            status.withLock { $0.unknownOutcomes += 1 }
        }
        let now = Moment.now
        if load.generation == generation { idle.append(transfer) }
        switch outcome {
        case .answered(let response):
            let answer = SLSAnswer(response)
            let latency = now - transfer.started
            status.withLock { status in
                status.latency.record(latency)
                status.answers[answer.countedAs, default: 0] += 1
            }
            let time = learnTime(from: answer, load)
            settle(Judge.judge(answer, load.attempt(time)), load, body.count, now)
        case .failed(let failure):
            let problem = TransportProblem(failure)
            settle(Judge.judge(problem, isTaken: body.isTaken), load, body.count, now)
        }
    }

    /// What an answer, or the lack of one, means for the packet and for all who wait behind it.
    private func settle(
        _ original: Judgement,
        _ load: Load,
        _ bodyBytes: Int,
        _ now: Moment
    ) {
        var judgement = original
        if let offset = load.endpoint.clock.hostIsWrong(assuming: settings.clockOffset) {
            judgement = judgement.doubted(for: offset)
        }
        // What is stored has nothing to tell, and is what there is most of.
        if judgement.action != .acknowledge {
            judgement = narrowed(judgement, by: load.credential, now)
            judgement.message = load.credential.redacted(judgement.message)
        }
        let outlet = load.outlet
        var lease = load.lease
        if judgement.isOutcomeUnknown {
            lease.mayBeStored = true
            status.withLock { $0.unknownOutcomes += 1 }
        }
        let isOfNow = load.generation == generation
        if judgement.isOfContent, isOfNow,
            outlet.evidence.refused(
                isAlone: lease.packet.logCount == 1,
                isReplayed: lease.packet.isReplayed
            )
        {
            judgement = judgement.doubtedAsAll
        }
        if judgement.action == .suspect, isOfNow { outlet.evidence.suspected() }
        let isConvicted = isOfNow && outlet.evidence.convicts(lease, now)
        let failure = judgement.action == .acknowledge ? nil : failure(judgement, of: outlet)
        if let failure { count(failure, of: outlet) }
        tellVerdict(judgement, failure, load, now)
        leave(load, judgement, failure, isConvicted: isConvicted, now)
        let change = endpoints.ended(load.endpoint, judgement, after: now - load.started, now)
        if let change { switched(change, because: failure, now) }
        lease.firstFailure = lease.firstFailure ?? (failure == nil ? nil : now)
        touch(outlet)
        switch judgement.action {
        case .acknowledge:
            stored(lease, of: outlet, judgement, bodyBytes, now)
            // With other settings it says nothing about these.
            if isOfNow { outlet.evidence.stored(now) }
        case .again, .slowDown, .pause: again(lease, load, judgement, now)
        case .resign:
            lease.resigned += 1
            status.withLock { $0.resigned += 1 }
            outlet.leases.failed(lease)
        case .split:
            let (clock, host) = (load.endpoint.clock, surroundings.now())
            let time = clock.time(at: host, assuming: settings.clockOffset)
            isolate(lease, of: outlet, DeathReason(judgement, at: time))
        case .suspect where !isOfNow: outlet.leases.failed(lease)
        case .suspect:
            lease.suspicions += 1
            if judgement.kind == .clock, lease.packet.logCount == 1 {
                awaitClock(lease, of: outlet, now)
            } else {
                let pass = load.passes.logstore
                suspected(lease, of: outlet, judgement, pass, isConvicted: isConvicted)
            }
        case .relane:
            ended(outlet)
            status.withLock { $0.relaned += 1 }
            surroundings.source.relane(lease.packet)
        }
        turns.rouse(outlet)
    }

    private func stored(
        _ lease: Lease,
        of outlet: DeliveryOutlet,
        _ judgement: Judgement,
        _ bodyBytes: Int,
        _ now: Moment
    ) {
        ended(outlet)
        surroundings.source.acknowledge(lease.packet)
        outlet.leases.recall()
        let failuresBefore = failuresInARow
        failuresInARow = 0
        let time = surroundings.now()
        let wait = max(.zero, time - lease.packet.oldest)
        outlet.status.sentPackets += 1
        outlet.status.sentLogs += lease.packet.logCount
        outlet.status.lastSuccess = time
        status.withLock { status in
            status.sentPackets += 1
            status.sentLogs += lease.packet.logCount
            status.sentRawBytes += lease.packet.rawBytes
            status.sentWireBytes += bodyBytes
            status.waits.record(wait)
            // A refused sequence number: an attempt whose outcome was unknown had stored it.
            if judgement.code != nil { status.storedBefore += 1 }
            status.failuresInARow = 0
            status.lastSuccess = time
        }
        tellRecovery(of: outlet, failuresBefore)
    }

    private func again(_ lease: Lease, _ load: Load, _ judgement: Judgement, _ now: Moment) {
        guard settings.dropUnauthorized, judgement.deniesRights,
            surroundings.credentials.credential(settings.credential) == load.credential
        else { return load.outlet.leases.failed(lease) }
        denied(lease, load, judgement, now)
    }

    /// The packet may be at fault, or the settings. Only what must be at fault is taken apart for good;
    /// else one packet at a time is halved, to see whether a part of it is stored.
    private func suspected(
        _ lease: Lease,
        of outlet: DeliveryOutlet,
        _ judgement: Judgement,
        _ pass: Gate.Pass,
        isConvicted: Bool
    ) {
        let isAlone = lease.packet.logCount == 1
        if isConvicted {
            // A lone log dies of it, so it is asked for twice.
            if isAlone, lease.suspicions < 2 { return outlet.leases.failed(lease) }
            return isolate(lease, of: outlet, DeathReason(judgement))
        }
        guard pass.isProbe else { return outlet.leases.failed(lease) }
        // Parts of what SLS may have, under other numbers, would be stored a second time.
        if !isAlone, !lease.mayBeKnown, outlet.evidence.mayHalve() {
            isolate(lease, of: outlet, DeathReason(judgement))
        } else {
            setAside(lease, of: outlet)
        }
    }
}

extension Judgement {
    /// Codes that refuse a packet for its size, which a smaller packet cures.
    private static let codesOfSize: Set = ["PostBodyTooLarge"]

    /// SLS refuses the content of the packet. A proxy on the way may have changed it.
    fileprivate var isOfContent: Bool {
        action == .split && status != 413 && !(code.map(Self.codesOfSize.contains) ?? false)
    }

    /// The same where SLS refuses everything: no single log is at fault, but something that all of them pass.
    fileprivate var doubtedAsAll: Judgement {
        var judgement = self
        judgement.action = .suspect
        judgement.remedy =
            "everything that is sent to this logstore is refused, so no log is given up for now: look for what "
            + "changes requests on the way (a proxy), and at the applications and clocks of the devices; if the "
            + "logs are bad indeed, sluice resume DESTINATION has the next ones taken apart"
        return judgement
    }
}
