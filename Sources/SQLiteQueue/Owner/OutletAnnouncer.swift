import Queue

/// The outlets that delivery knows of, and how many packets of each it asks for.
struct OutletAnnouncer {
    private var known: Set<Outlet> = []
    private(set) var demand = Demand()
    private var newReceiver: (@Sendable ([Outlet]) -> Void)?
    private var retiredReceiver: (@Sendable ([Outlet]) -> Void)?

    /// Tells a new receiver of all outlets. Between two turns all that the store knows is committed.
    mutating func announce(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        newReceiver = receiver
        if !known.isEmpty { receiver(Array(known)) }
    }

    mutating func retire(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        retiredReceiver = receiver
    }

    /// After a commit: tells of outlets that it brought, and of those that were forgotten.
    mutating func announceChanges(in store: OpenStore) {
        let changed = store.destinations.takeChangedOutlets()
        guard !changed.isEmpty else { return }
        var new: [Outlet] = []
        var gone: [Outlet] = []
        for name in changed {
            if store.destinations.knows(name) {
                if known.insert(name).inserted { new.append(name) }
            } else if known.remove(name) != nil {
                demand.forget(name)
                store.destinations.noteDemand(for: name)
                gone.append(name)
            }
        }
        if !gone.isEmpty { retiredReceiver?(gone) }
        if !new.isEmpty { newReceiver?(new) }
    }

    /// A store was opened: outlets may be missing that the one before it knew.
    mutating func compare(with store: OpenStore) {
        store.destinations.noteChanged(known)
        announceChanges(in: store)
    }

    /// Delivery asks for packets. Asked for an outlet that was forgotten a moment ago, nothing is remembered: it will be
    /// announced again.
    mutating func request(_ count: Int, for outlet: Outlet, in store: OpenStore?) {
        guard known.contains(outlet) else { return }
        demand.raise(outlet, by: count)
        store?.destinations.noteDemand(for: outlet)
    }

    /// A packet was handed over.
    mutating func met(_ outlet: Outlet) { demand.meet(outlet) }
}
