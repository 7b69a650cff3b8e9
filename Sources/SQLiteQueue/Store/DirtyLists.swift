import Queue
import System

/// What the transaction at hand has touched: a turn looks at that, and not at all destinations and logstores. Whatever
/// changes one of them puts it into its list.
final class DirtyLists {
    /// Unowned: a store has its destinations for as long as it lives.
    private struct Changed {
        unowned let destination: QueuedDestination
    }

    private var list: [Changed] = []
    private var outlets: [QueuedOutlet] = []
    private var ripening = RipeningOutlets()
    /// Nothing of this store was published yet, or what is said to all of it may have changed.
    var isUnpublished = true

    // MARK: - Destinations

    func note(_ destination: QueuedDestination) {
        list.append(Changed(destination: destination))
    }

    /// Destinations that changed since they were published.
    var changed: [QueuedDestination] { list.map(\.destination) }

    /// They were published. One whose ledger is not on the disk stays.
    func published() {
        isUnpublished = false
        list.removeAll { $0.destination.settleChange() }
    }

    // MARK: - Outlets

    func note(_ outlet: QueuedOutlet) {
        outlets.append(outlet)
    }

    /// Outlets that may have packets to hand over: something happened to them, or a stream of theirs came of age. Each is
    /// to be given back by `looked`; until then the caller knows what happens to it.
    func takeOutlets(_ now: WallTime) -> [QueuedOutlet] {
        while let outlet = ripening.popDue(now) { outlet.note() }
        defer { outlets.removeAll(keepingCapacity: true) }
        return outlets
    }

    /// The outlet has given what it can until `due`, if nothing happens to it before.
    func looked(_ outlet: QueuedOutlet, due: WallTime?) {
        outlet.isNoted = false
        if let due { ripening.add(outlet, at: due) }
    }

    /// When the next outlet is to be looked at.
    var nextDue: WallTime? { ripening.next }
}

/// Outlets by the time at which their next stream comes of age. An outlet stands in it once, or again when the time has
/// moved forward; the later entry then finds nothing.
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
