import Queue
import System

/// A logstore of a destination on the delivery thread: its packets, its gate, and its state.
final class DeliveryOutlet {
    enum Turn {
        case none, inLine, inLineToProbe, asleep
    }

    let name: Outlet
    var gate: Gate
    var line = PacketLine()
    var evidence = Evidence()
    /// Why its gate is closed.
    var pause: Pause?
    var notices = FailureNotices()
    var status: OutletStatus
    /// The queue has forgotten it; it goes when its last packet has.
    var isRetired = false

    /// For `Turns`: the line that it stands in, and the number of its live entry there.
    var turn = Turn.none
    var ticket = 0
    /// For `OutletRegistry`: it had packets on lease when it was last visited, and it changed since.
    var isBusy = false
    var isDirty = false

    init(_ name: Outlet, _ bounds: Gate.Bounds) {
        self.name = name
        gate = Gate(bounds)
        status = OutletStatus(logstore: name.logstore)
    }

    /// The queue has forgotten it, and delivery has none of its packets.
    var isOver: Bool { isRetired && line.isEmpty }
}
