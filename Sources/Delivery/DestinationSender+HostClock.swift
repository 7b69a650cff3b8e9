import Queue
import System

/// What becomes of packets that SLS refuses while the host's clock is wrong.
extension DestinationSender {
    /// A lone log may be refused for nothing but the time that the host gave it. It waits, and is asked for
    /// now and then, until the clock is right. Some may wait while others are delivered; with more of
    /// them the logstore waits, so that nothing is taken apart for a clock without a bound.
    func awaitClock(_ original: Lease, of outlet: DeliveryOutlet, _ now: Moment) {
        var lease = original
        lease.awaitsClock = true
        outlet.leases.keptBack(lease)
        // Its lane is free for another packet, as that of one that stands aside.
        surroundings.source.setAside(lease.packet)
        let wait = settings.probeWaits.wait(after: lease.suspicions, random: .random(in: 0...1))
        clockWaits.add(lease, at: now + wait)
    }

    /// Takes back what is worth another request: when the clock is right, all of it.
    func lookAtClock(_ now: Moment) {
        let isWrong = endpoint.clock.hostIsWrong(assuming: settings.clockOffset) != nil
        let isRightAgain = hostWasWrong && !isWrong
        hostWasWrong = isWrong
        let due = isRightAgain ? Moment(nanoseconds: .max) : now
        while let lease = clockWaits.takeFirst(upTo: due)?.element { lineUp(lease) }
        if isRightAgain { clockIsRight(now) }
    }

    private func clockIsRight(_ now: Moment) {
        let isOfClock = { (pause: Pause) in
            pause.failure.kind == .clock && pause.scope == .logstore
        }
        for outlet in outlets.values {
            outlet.leases.recall()
            if outlet.pause.map(isOfClock) ?? false { outlet.evidence.forget() }
            turns.rouse(outlet)
            touch(outlet)
        }
        reopen(now, where: isOfClock)
    }

    func lineUp(_ lease: Lease) {
        guard let outlet = outlets[lease.packet.stream.logstore] else { return }
        if lease.awaitsClock {
            postpone(outlet.leases.standAside(lease))
        } else {
            outlet.leases.lineUpAgain(lease)
        }
        turns.rouse(outlet)
        touch(outlet)
    }
}
