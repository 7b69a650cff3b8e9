import Queue
import SLS
import System

/// What a request carries, besides its bytes: who signed for it, and through which gates it went.
struct Load {
    var lease: Lease
    let credential: Credential
    let outlet: DeliveryOutlet
    let endpoint: EndpointState
    let quota: ProjectQuota
    let passes: Passes
    /// Which of the destination's settings it was sent with.
    let generation: Int
    let started: Moment
    /// The host's time when it was signed, and SLS's that it was signed with.
    let signed: WallTime
    let dated: WallTime

    /// One pass of each gate, each given back exactly once.
    struct Passes {
        let endpoint: Gate.Pass
        let quota: Gate.Pass
        let project: Gate.Pass
        let logstore: Gate.Pass
    }

    /// Servers that disagree about the time would have a packet signed for ever.
    private static let signaturesMax = 3

    /// What the judge has to know of it. `now` is SLS's time, as far as it is known by now.
    func attempt(_ now: WallTime) -> Attempt {
        let mayHelp = lease.resigned < Self.signaturesMax && ServerClock.mayAccept(now, not: dated)
        return Attempt(
            mayBeStored: lease.mayBeStored || lease.packet.isRecovered,
            isResigned: !mayHelp,
            hasLane: lease.packet.lane != nil
        )
    }
}
