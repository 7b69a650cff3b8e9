import Queue
import SLS
import System

/// What a request carries, besides its bytes: its packet, who signed it and when, and the gates
/// that it passed.
struct Load {
    var lease: Lease
    /// The one that signed it, for a kind that needs one.
    let credential: Credential?
    let outlet: DeliveryOutlet
    let passes: Passes
    /// Which of the destination's settings it was sent with.
    let generation: Int
    let started: Moment
    /// The host's time when it was signed, and SLS's that it was signed with.
    let signed: WallTime
    let dated: WallTime

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

    /// True when the request may be taken if it is signed with `now`, the destination's time as far
    /// as it is known.
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
