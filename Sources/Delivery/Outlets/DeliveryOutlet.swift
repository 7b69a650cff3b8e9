import Queue
import System

/// A logstore of a destination on the delivery thread: its packets, its gate, and what is known of it.
final class DeliveryOutlet {
    enum Turn {
        case none, inLine, inLineToProbe, asleep
    }

    let name: Outlet
    var gate: Gate
    var leases = Leases()
    var evidence = Evidence()
    var turn = Turn.none
    /// Of its entry in `Turns`, and of no other one.
    var ticket = 0
    /// Why its gate is closed.
    var pause: Pause?
    var notices = FailureNotices()
    var status: OutletStatus
    /// The queue has forgotten it; it goes when its last packet has.
    var isRetired = false
    /// It had packets on lease when it was last looked at.
    var isBusy = false
    /// Something happened to it that was not told yet.
    var isTouched = false

    init(_ name: Outlet, _ bounds: Gate.Bounds) {
        self.name = name
        gate = Gate(bounds)
        status = OutletStatus(logstore: name.logstore)
    }
}

/// Why a gate is closed.
struct Pause {
    let failure: DeliveryFailure
    /// How far the failure reached.
    let scope: GateScope

    /// Whether another credential may end it.
    var mayEndWithCredential: Bool {
        failure.kind == .unauthorized || failure.kind == .suspended
    }
}
