import Queue
import System

/// What becomes of packets that SLS refuses while the host's clock is wrong.
extension Destination {
    /// A lone log may be refused for nothing but the time that the host gave it. It waits, and is asked for
    /// now and then, until the clock is right. Those that wait are on lease, so the logstore asks for no
    /// more than it has: nothing is taken apart for a clock without a bound.
    func awaitClock(_ lease: Lease, of outlet: DeliveryOutlet, _ now: Moment) {
        outlet.leases.keptBack()
        let wait = settings.probeWaits.wait(after: lease.suspicions, random: .random(in: 0...1))
        clockWaits.add(lease, at: now + wait)
    }

    /// Takes back what is worth another request: when the clock is right, all of it.
    func lookAtClock(_ now: Moment) {
        let isWrong = region.clock.hostIsWrongBy != nil
        let isRightAgain = hostWasWrong && !isWrong
        hostWasWrong = isWrong
        let due = isRightAgain ? Moment(nanoseconds: .max) : now
        while let lease = clockWaits.takeDue(due) { lineUp(lease) }
        guard isRightAgain else { return }
        let isOfClock = { (pause: Pause) in
            pause.failure.kind == .clock && pause.scope == .logstore
        }
        for outlet in outlets.values where outlet.pause.map(isOfClock) ?? false {
            outlet.evidence.forget()
        }
        reopen(now, where: isOfClock)
    }

    func lineUp(_ lease: Lease) {
        guard let outlet = outlets[lease.packet.stream.logstore] else { return }
        outlet.leases.lineUpAgain(lease)
        turns.rouse(outlet)
        touch(outlet)
    }
}
