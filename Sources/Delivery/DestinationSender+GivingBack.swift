import Queue
import System

/// The ways in which a packet leaves delivery without being stored.
extension DestinationSender {
    /// A packet that was in flight, or about to be, is not ours any more.
    func ended(_ outlet: DeliveryOutlet) {
        outlet.leases.ended()
        leased -= 1
    }

    /// What is refused in it has to be found and taken out.
    func isolate(_ lease: Lease, of outlet: DeliveryOutlet, _ reason: DeathReason) {
        ended(outlet)
        surroundings.source.isolate(lease.packet, because: reason)
        status.withLock { $0.isolated.count(lease.packet, reason.message) }
    }

    func discard(_ lease: Lease, of outlet: DeliveryOutlet, _ reason: DeathReason) {
        ended(outlet)
        surroundings.source.discard(lease.packet, because: reason)
        status.withLock { $0.discarded.count(lease.packet, reason.message) }
    }

    /// Another packet has to be stored before this one can be judged.
    func setAside(_ lease: Lease, of outlet: DeliveryOutlet) {
        surroundings.source.setAside(lease.packet)
        postpone(outlet.leases.setAside(lease))
    }

    /// What has stood aside for too long goes back to the queue, which hands it over again.
    func postpone(_ lease: Lease?) {
        guard let lease else { return }
        leased -= 1
        surroundings.source.postpone(lease.packet)
    }

    /// The queue wants these back, of which some may be under way.
    func giveBack(_ numbers: Set<Int64>, of logstore: String) {
        guard let outlet = outlets[logstore] else { return }
        for lease in outlet.leases.takeOut(numbers) {
            leased -= 1
            letGo(content: lease.contentBytes)
            surroundings.source.giveBack(lease.packet)
        }
        touch(outlet)
    }

    /// The queue has voided the packet and tells so itself.
    func voided(_ outlet: DeliveryOutlet, _ reason: String) {
        ended(outlet)
        status.withLock { status in
            status.voided.packets += 1
            status.voided.reason = reason
        }
    }

    /// The disk may recover, so the packet is read again later.
    func unread(_ original: Lease, of outlet: DeliveryOutlet, _ message: String, _ now: Moment) {
        var lease = original
        lease.unread += 1
        outlet.leases.keptBack(lease)
        let wait = Backoff.retry.wait(after: lease.unread, random: .random(in: 0...1))
        rereads.add(lease, at: now + wait)
        let failure = DeliveryFailure(
            kind: .queue,
            result: .persistentError,
            logstore: outlet.name.logstore,
            status: nil,
            code: nil,
            message: message,
            requestID: nil,
            remedy: "check the disk that holds the queue",
            at: surroundings.now()
        )
        count(failure, of: outlet)
        if let notice = notices.failed(failure.kind, now) { tell(failure, notice: notice) }
    }
}
