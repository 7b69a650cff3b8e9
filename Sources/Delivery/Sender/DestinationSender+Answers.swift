import Configuration
import HTTPClient
import Queue
import System

/// Applies an answer, or the lack of one, to its packet and to the gates.
extension DestinationSender {
    /// Takes back work that has ended.
    func finish(_ work: CarriedWork, _ carried: Load) {
        let now = Moment.now
        var load = carried
        memory.release(body: work.bytes)
        if work.isRepeated {
            load.lease.mayBeStored = true
            status.count(\.unknownOutcomes)
        }
        let attempt = load.attempt(isBodyTaken: work.isTaken)
        var judgement = output.judge(work.outcome, of: attempt, by: load.credential)
        if work.hasOtherAddress { judgement = judgement.atAnotherAddress }
        if let answer = judgement.countedAs {
            status.answered(answer, after: now - work.started, by: work.outcome.route)
        }
        if let time = judgement.time {
            let received = clock.now
            let change = clock.learn(
                from: time,
                at: load.endpoint,
                signed: load.signed,
                received: received
            )
            if let change {
                // Others go there, too.
                agendaEntry.markAllDue()
                reporter.clockChanged(at: load.endpoint, change)
            }
            if !load.mayResign(clock.time(of: load.endpoint, at: received)) {
                judgement = judgement.withoutResigning
            }
        }
        let final = apply(judgement, to: load, bodyBytes: work.bytes, now)
        guard let watcher = watcher.withLock({ $0 }), watcher.wantsAttempts else { return }
        watcher.note(PacketAttempt(final, load, work.outcome.route, took: now - load.started))
    }

    /// Returns the judgement as it was applied.
    private func apply(
        _ original: Judgement,
        to carried: Load,
        bodyBytes: Int,
        _ now: Moment
    ) -> Judgement {
        var load = carried
        let outlet = load.outlet
        let isCurrentGeneration = load.generation == generation
        var judgement = original
        if let offset = clock.wrongness(at: load.endpoint) {
            judgement = judgement.blamingClock(offset)
        }
        if credential.isGoodElsewhere(judgement, load.credential, now) {
            judgement = judgement.limitedToLogstore
        }
        if judgement.isOutcomeUnknown {
            load.lease.mayBeStored = true
            status.count(\.unknownOutcomes)
        }
        if isCurrentGeneration { judgement = outlet.evidence.weigh(judgement, of: load.lease) }
        let failure =
            judgement.action == .acknowledge
            ? nil : DeliveryFailure(judgement, outlet.name.logstore, at: clock.now)
        if let failure { reporter.count(failure, of: outlet) }
        credential.report(judgement, as: failure, of: load.credential, sent: load.started, now)
        let ending = Ending(
            judgement: judgement,
            failure: failure,
            // It was for another credential.
            isExcused: judgement.kind == .unauthorized && !credential.isCurrent(load.credential),
            isPacketAtFault: isCurrentGeneration
                && outlet.evidence.isPacketAtFault(load.lease, now)
        )
        let waitsElsewhere = memory.isWaiting || encoders.isFull
        gates.release(load, after: ending, waitsElsewhere: waitsElsewhere, now)
        gates.ended(at: load.endpoint, ending, after: now - load.started, now)
        if failure != nil { load.lease.firstFailure = load.lease.firstFailure ?? now }
        settle(load, ending, now)
        if judgement.action == .acknowledge {
            status.stored(
                load.lease.packet,
                of: outlet,
                bodyBytes: bodyBytes,
                // A refused sequence number: an attempt whose outcome was unknown had stored it.
                wasStoredBefore: judgement.code != nil,
                at: clock.now
            )
            reporter.stored(in: outlet)
            // With other settings it says nothing about these.
            if isCurrentGeneration { outlet.evidence.stored(now) }
        }
        outlets.wake(outlet)
        return judgement
    }

    /// What becomes of the packet.
    private func settle(_ load: Load, _ ending: Ending, _ now: Moment) {
        let (outlet, judgement) = (load.outlet, ending.judgement)
        var lease = load.lease
        switch judgement.action {
        case .acknowledge:
            leases.end(lease, of: outlet, .stored)
            // Those that stand aside can be judged now.
            outlet.line.recall()
        case .again, .slowDown, .pause: again(load, judgement, now)
        case .resign:
            lease.resigned += 1
            status.count(\.resigned)
            outlet.line.failed(lease)
        case .split:
            let time = clock.time(of: load.endpoint, at: clock.now)
            leases.end(lease, of: outlet, .isolate(DeathReason(judgement, at: time)))
        case .readdress: outlet.line.failed(lease)
        case .suspect where load.generation != generation: outlet.line.failed(lease)
        case .suspect:
            lease.suspicions += 1
            if judgement.kind == .clock, lease.packet.logCount == 1 {
                let random = Double.random(in: 0...1)
                let wait = settings.transfer.retry.wait(after: lease.suspicions, random: random)
                leases.awaitClock(lease, of: outlet, until: now + wait)
            } else {
                suspected(lease, load, ending)
            }
        case .relane: leases.end(lease, of: outlet, .relane)
        }
    }

    /// The same packet goes again when its gates let it through, unless an operator wants
    /// unauthorized packets dropped (`drop_unauthorized`, as the SDKs' `DropUnauthorizedLog`).
    private func again(_ load: Load, _ judgement: Judgement, _ now: Moment) {
        let outlet = load.outlet
        var lease = load.lease
        guard settings.transfer.dropsUnauthorized, judgement.traits.contains(.deniesRights),
            credential.isCurrent(load.credential)
        else { return outlet.line.failed(lease) }
        // The second refusal drops the packet. In between it waits for the gate that the first one
        // has closed, but no longer than for a first probe: the backlog that is to be dropped would
        // outgrow the queue.
        let isConfirmed = lease.refused == load.credential
        lease.refused = load.credential
        let wait =
            isConfirmed ? .zero : settings.transfer.retry.wait(after: 1, random: .random(in: 0...1))
        gates.hastenProbe(of: outlet, judgement.scope, to: now + wait)
        if isConfirmed {
            leases.end(lease, of: outlet, .discard(DeathReason(judgement)))
        } else {
            outlet.line.failed(lease)
        }
    }

    /// The packet or the settings may be at fault. Only a packet that must be at fault is taken
    /// apart for good; else one at a time is halved, to see whether a part of it is stored.
    private func suspected(_ lease: Lease, _ load: Load, _ ending: Ending) {
        let outlet = load.outlet
        let reason = DeathReason(ending.judgement)
        let isAlone = lease.packet.logCount == 1
        if ending.isPacketAtFault {
            // A packet of a single log becomes a dead letter, so SLS has to refuse it twice.
            if isAlone, lease.suspicions < 2 { return outlet.line.failed(lease) }
            return leases.end(lease, of: outlet, .isolate(reason))
        }
        guard load.passes.outlet.isProbe else { return outlet.line.failed(lease) }
        // Parts of what SLS may have, under other numbers, would be stored a second time.
        if !isAlone, !lease.mayBeKnown, outlet.evidence.spendHalving() {
            leases.end(lease, of: outlet, .isolate(reason))
        } else {
            leases.setAside(lease, of: outlet)
        }
    }
}

extension PacketAttempt {
    init(_ judgement: Judgement, _ load: Load, _ route: TransferRoute?, took time: Duration) {
        self.init(
            packet: load.lease.packet,
            endpoint: load.endpoint.description,
            address: route?.address ?? "",
            resolver: route?.target?.source,
            started: load.signed,
            time: time,
            connectTime: route?.connectTime,
            status: judgement.status,
            code: judgement.code,
            message: judgement.message,
            requestID: judgement.requestID,
            result: judgement.action.inWords
        )
    }
}

extension Judgement.Action {
    fileprivate var inWords: String {
        switch self {
        case .acknowledge: "stored"
        case .again: "tried again"
        case .slowDown: "tried again, slower"
        case .pause: "tried again when the gate opens"
        case .resign: "signed again"
        case .split: "split"
        case .suspect: "suspected"
        case .readdress: "sent to another address"
        case .relane: "sent in another lane"
        }
    }
}
