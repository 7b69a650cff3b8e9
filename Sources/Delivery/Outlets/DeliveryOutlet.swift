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
    private(set) var isRetired = false

    /// For `Turns`: the line that it stands in, and the number of its live entry there.
    var turn = Turn.none
    var ticket = 0
    /// For `OutletRegistry`: it had packets on lease when it was last visited, and it changed
    /// since.
    private(set) var isBusy = false
    var isDirty = false

    init(_ name: Outlet, _ bounds: Gate.Bounds) {
        self.name = name
        gate = Gate(bounds)
        status = OutletStatus(logstore: name.logstore)
    }

    /// The queue has forgotten it, and delivery has none of its packets.
    var isOver: Bool { isRetired && line.isEmpty }
    /// Its gate lets single requests through.
    var isProbing: Bool { gate.probing != nil }

    /// The queue has logs for it.
    func announced() {
        isRetired = false
        line.forgetRequests()
    }

    /// The queue has forgotten it, and what it was asked for.
    func retired() {
        isRetired = true
        line.forgetRequests()
    }

    /// Notes whether it has packets on lease. True when that has changed.
    func noteBusy() -> Bool {
        let wasBusy = isBusy
        isBusy = !line.isEmpty
        return isBusy != wasBusy
    }

    /// The host's clock was wrong and is right again: what was refused meanwhile says nothing any
    /// more.
    func clockIsRight() {
        line.recall()
        if pause?.isClockPause == true { evidence.forget() }
    }

    /// The settings have changed, which may have ended the reason of a pause.
    func renew(concurrency: Int, _ now: Moment) {
        gate.widen(to: concurrency)
        gate.reopen(now)
        pause = nil
        // That packets were stored with the old settings proves nothing about the new ones.
        evidence.forget()
    }
}
