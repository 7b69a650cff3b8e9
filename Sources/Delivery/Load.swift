import Queue
import SLS
import System

/// What a request carries, besides its bytes: who signed for it, and through which gates it went.
struct Load {
    let lease: Lease
    let credential: Credential
    let outlet: DeliveryOutlet
    let region: Region
    let passes: Passes
    /// The host's time when it was signed.
    let signed: WallTime

    /// One pass of each gate, each given back exactly once.
    struct Passes {
        let region: Gate.Pass
        let project: Gate.Pass
        let logstore: Gate.Pass
    }

    /// What the judge has to know of it.
    var attempt: Attempt {
        Attempt(
            mayBeStored: lease.mayBeStored || lease.packet.isRecovered,
            isResigned: lease.resignedAt == region.clockChanges,
            hasLane: lease.packet.lane != nil
        )
    }
}
