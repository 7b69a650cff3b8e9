import Configuration
import HTTPClient
import Queue
import SLS
import System

/// The next request: which outlet sends, and through which gates.
extension DestinationSender {
    /// Starts the next request, if one may go. Outlets take turns with their oldest packets.
    func sendNext(_ now: Moment, _ loop: TransferLoop) -> Bool {
        guard !isHeld, outlets.hasTurns, mayEncodeOrWaits(), let endpoint = gates.openEndpoint(now),
            let signer = lookForCredential(now)
        else { return false }
        return outlets.giveTurn(
            now,
            prefersOpen: gates.prefersOpenOutlets,
            admitsProbes: gates.admitsProbes(now)
        ) { outlet in
            guard gates.admits(outlet, at: endpoint, now), let upcoming = outlet.line.upcoming
            else { return .passed }
            // It stays the first in line, or smaller packets would take for ever what it waits for.
            guard memory.admitsOrWaits(body: output.bodyBytesMax(of: upcoming)),
                let lease = outlet.line.next()
            else { return .blocked }
            send(lease, of: outlet, to: endpoint, by: signer.credential, now, loop)
            return .used
        }
    }

    /// False while the threads that encode have enough to do. Their next body begins a turn.
    private func mayEncodeOrWaits() -> Bool {
        guard output.encodesSlowly, encoders.isFull else { return true }
        encoders.wait(agendaEntry)
        return false
    }

    private func send(
        _ next: Lease,
        of outlet: DeliveryOutlet,
        to endpoint: EndpointState,
        by credential: Credential?,
        _ now: Moment,
        _ loop: TransferLoop
    ) {
        outlets.markDirty(outlet)
        memory.release(content: next.contentBytes)
        guard let blocks = blocks(of: next, of: outlet, now) else { return }
        let encode = { @Sendable [output, packet = next.packet] () throws(Unsendable) in
            try output.body(of: packet, blocks)
        }
        let body: PacketBody?
        do throws(Unsendable) {
            body = output.encodesSlowly ? nil : try encode()
        } catch {
            return unsendable(next, of: outlet, error)
        }
        let signed = clock.now
        let load = Load(
            lease: next,
            credential: credential,
            outlet: outlet,
            passes: gates.enter(outlet, at: endpoint, bytes: next.packet.rawBytes, now),
            generation: generation,
            started: now,
            signed: signed,
            dated: clock.time(of: endpoint, at: signed)
        )
        if let body { return start(load, body, by: output, loop) }
        let room = output.bodyBytesMax(of: next)
        memory.reserve(body: room)
        encodings.begin(.init(load: load, output: output, room: room), encode)
    }

    /// A body was encoded on another thread, or cannot be.
    func encoded(_ ticket: Int, _ outcome: BodyEncoders.Outcome, _ loop: TransferLoop) {
        guard let encoding = encodings.take(ticket) else { return }
        memory.release(body: encoding.room)
        var load = encoding.load
        switch outcome {
        // It goes on with other settings, or when its operator lets it.
        case .success where load.generation != generation || isHeld:
            gates.withdraw(load)
            load.lease.dropContent()
            load.outlet.line.failed(load.lease)
            outlets.wake(load.outlet)
        case .success(let body):
            load.started = .now
            load.signed = clock.now
            load.dated = clock.time(of: load.endpoint, at: load.signed)
            start(load, body, by: encoding.output, loop)
        case .failure(let error):
            gates.withdraw(load)
            unsendable(load.lease, of: load.outlet, error)
            outlets.wake(load.outlet)
        }
    }

    private func start(
        _ new: Load,
        _ body: PacketBody,
        by output: any Output,
        _ loop: TransferLoop
    ) {
        var load = new
        // The blocks that the body was made of need no memory any more.
        load.lease.dropContent()
        load.lease.unread = 0
        let work = output.work(
            for: load.lease.packet,
            body,
            to: load.endpoint.key,
            by: load.credential,
            at: load.dated
        )
        if load.lease.firstFailure != nil { status.count(\.retries) }
        let bytes = carrier.start(work, on: loop) { [self, load] in finish($0, load) }
        memory.reserve(body: bytes)
    }

    /// The packet's content; nil when there is none now, and the lease is settled already.
    private func blocks(
        of lease: Lease,
        of outlet: DeliveryOutlet,
        _ now: Moment
    ) -> [StoredBlock]? {
        do throws(QueueError) {
            return try leases.blocks(of: lease)
        } catch {
            switch error.kind {
            case .corrupt: leases.withdrawn(lease, of: outlet, isVoid: true)
            case .withdrawn: leases.withdrawn(lease, of: outlet, isVoid: false)
            // It passes for all packets at once.
            case .unreachable: leases.reread(lease, of: outlet, at: now + .milliseconds(500))
            default: unread(lease, of: outlet, error.description, now)
            }
            return nil
        }
    }

    /// The disk may recover, so the packet is read again later.
    private func unread(
        _ original: Lease,
        of outlet: DeliveryOutlet,
        _ message: String,
        _ now: Moment
    ) {
        var lease = original
        lease.unread += 1
        let wait = Backoff.retry.wait(after: lease.unread, random: .random(in: 0...1))
        leases.reread(lease, of: outlet, at: now + wait)
        let failure = DeliveryFailure(unread: message, outlet.name.logstore, at: clock.now)
        reporter.count(failure, of: outlet)
        reporter.failed(failure, at: gates.endpoint, now)
    }

    private func unsendable(
        _ lease: Lease,
        of outlet: DeliveryOutlet,
        _ error: Unsendable
    ) {
        if error.isDamage, lease.packet.recent != nil {
            // What is on the disk may be right; if not, the queue finds that out.
            outlet.line.failed(lease)
        } else {
            let reason = DeathReason(code: "PacketUnsendable", message: error.reason)
            leases.end(lease, of: outlet, .isolate(reason))
        }
    }
}

/// What a request carries besides its bytes.
struct Load {
    var lease: Lease
    /// The one that signed it, for a kind that needs one.
    let credential: Credential?
    let outlet: DeliveryOutlet
    let passes: Passes
    /// Which of the destination's settings it was sent with.
    let generation: Int
    var started: Moment
    /// The host's time when it was signed, and SLS's that it was signed with.
    var signed: WallTime
    var dated: WallTime

    /// One pass of each gate, each given back exactly once, to the gate that gave it.
    struct Passes {
        let usedEndpoint: EndpointState
        let usedQuota: ProjectQuota
        let endpoint: Gate.Pass
        let quota: Gate.Pass
        let project: Gate.Pass
        let outlet: Gate.Pass
    }

    var endpoint: EndpointState { passes.usedEndpoint }
    var quota: ProjectQuota { passes.usedQuota }

    /// Servers that disagree about the time would have a packet signed for ever.
    private static let signaturesMax = 3

    /// The facts that its outcome is judged by.
    func attempt(isBodyTaken: Bool) -> Attempt {
        Attempt(
            mayBeStored: lease.mayBeStored || lease.packet.isRecovered,
            hasLane: lease.packet.lane != nil,
            isBodyTaken: isBodyTaken
        )
    }

    /// True when the request may be taken if it is signed with `now`, the destination's time.
    func mayResign(_ now: WallTime) -> Bool {
        lease.resigned < Self.signaturesMax && ServerClock.mayAccept(now, not: dated)
    }
}

/// How a request ended, for its packet and for the gates that it passed.
struct Ending {
    let judgement: Judgement
    /// nil when the packet is stored.
    let failure: DeliveryFailure?
    /// The answer says nothing about any gate.
    let isExcused: Bool
    /// The outlet's other packets prove that this packet is at fault.
    let isPacketAtFault: Bool

    /// What the answer says about a scope, for its gate.
    func verdict(for scope: GateScope) -> Gate.Verdict {
        guard isExcused else {
            return judgement.verdict(for: scope, isPacketAtFault: isPacketAtFault)
        }
        // SLS answered, so the endpoint works, whatever is refused.
        return scope == .endpoint && judgement.isAnswered ? .reached : .none
    }

    /// How long the scope asks to be left alone.
    func retryAfter(for scope: GateScope) -> Duration? {
        isExcused ? nil : judgement.retryAfter(for: scope)
    }
}
