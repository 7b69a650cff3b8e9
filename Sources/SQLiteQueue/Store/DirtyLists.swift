import Queue
import System

/// The destinations and outlets that the current transaction touched. A turn looks only at these,
/// not at all. Every change of a destination or outlet adds it to its list.
final class DirtyLists {
    /// Unowned: a store keeps its destinations as long as it exists.
    private struct Changed {
        unowned let destination: QueuedDestination
    }

    private var list: [Changed] = []
    private var outlets: [QueuedOutlet] = []
    private var ripening = RipeningOutlets()
    /// True if nothing of this store was published yet, or if the answer to all batches may have
    /// changed.
    var isUnpublished = true

    // MARK: - Destinations

    func note(_ destination: QueuedDestination) {
        list.append(Changed(destination: destination))
    }

    /// Destinations that changed since they were published.
    var changed: [QueuedDestination] { list.map(\.destination) }

    /// Clears the list after publishing. A destination whose ledger is not on the disk stays in it.
    func published() {
        isUnpublished = false
        list.removeAll { $0.destination.settleChange() }
    }

    // MARK: - Outlets

    func note(_ outlet: QueuedOutlet) {
        outlets.append(outlet)
    }

    /// Returns outlets that may have packets to hand over: something happened to them, or a stream
    /// of theirs reached its age. The caller must return each one with `looked` and is responsible
    /// for its changes until then.
    func takeOutlets(_ now: WallTime) -> [QueuedOutlet] {
        while let outlet = ripening.popDue(now) { outlet.note() }
        defer { outlets.removeAll(keepingCapacity: true) }
        return outlets
    }

    /// Returns an outlet that has nothing more to give until `due`, unless something happens to it
    /// before.
    func looked(_ outlet: QueuedOutlet, due: WallTime?) {
        outlet.isNoted = false
        if let due { ripening.add(outlet, at: due) }
    }

    /// The time at which the next outlet is due.
    var nextDue: WallTime? { ripening.next }
}

/// Outlets by the time at which their next stream reaches its age. An outlet has one entry, or a
/// second one if its time has moved forward; the later entry then finds nothing.
private struct RipeningOutlets {
    private var entries = PriorityQueue<WallTime, QueuedOutlet>()

    var next: WallTime? { entries.nextKey }

    mutating func add(_ outlet: QueuedOutlet, at due: WallTime) {
        if let filed = outlet.filedDue, filed <= due { return }
        outlet.filedDue = due
        entries.add(outlet, at: due)
    }

    mutating func popDue(_ now: WallTime) -> QueuedOutlet? {
        guard let (due, outlet) = entries.takeFirst(upTo: now) else { return nil }
        if outlet.filedDue == due { outlet.filedDue = nil }
        return outlet
    }
}
