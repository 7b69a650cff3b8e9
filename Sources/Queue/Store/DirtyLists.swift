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
    /// to be given back by `looked`, and what happens to it until then is known to whoever took it.
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

/// Outlets by the time at which their next stream comes of age: a binary heap. An outlet stands in it once, or again
/// when the time has moved forward; the later entry then finds nothing.
private struct RipeningOutlets {
    private var entries: [(due: WallTime, outlet: QueuedOutlet)] = []

    var next: WallTime? { entries.first?.due }

    mutating func add(_ outlet: QueuedOutlet, at due: WallTime) {
        if let filed = outlet.filedDue, filed <= due { return }
        outlet.filedDue = due
        entries.append((due, outlet))
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].due < entries[parent].due else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    mutating func popDue(_ now: WallTime) -> QueuedOutlet? {
        guard let first = entries.first, first.due <= now else { return nil }
        let last = entries.removeLast()
        if !entries.isEmpty {
            entries[0] = last
            sink()
        }
        if first.outlet.filedDue == first.due { first.outlet.filedDue = nil }
        return first.outlet
    }

    private mutating func sink() {
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < entries.count && entries[child].due < entries[least].due {
                least = child
            }
            guard least != parent else { return }
            entries.swapAt(parent, least)
            parent = least
        }
    }
}
