import Queue

/// The outlets that delivery knows, and the number of packets that it asks for from each.
struct OutletAnnouncer {
    private var known: Set<Outlet> = []
    var demand = Demand()
    private var receiver: (@Sendable (DeliveryNews) -> Void)?

    /// Announces all outlets to a new receiver. Between two turns all that the store knows is
    /// committed.
    mutating func announce(to receiver: @escaping @Sendable (DeliveryNews) -> Void) {
        self.receiver = receiver
        if !known.isEmpty { receiver(.announced(Array(known))) }
    }

    /// Called after a commit. Announces the outlets that the commit made or removed.
    mutating func announceChanges(in store: OpenStore) {
        let changed = store.destinations.takeChangedOutlets()
        guard !changed.isEmpty else { return }
        var new: [Outlet] = []
        var gone: [Outlet] = []
        for name in changed {
            if store.destinations.knows(name) {
                if known.insert(name).inserted { new.append(name) }
            } else if known.remove(name) != nil {
                demand.drop(name)
                store.destinations.noteDemand(for: name)
                gone.append(name)
            }
        }
        if !gone.isEmpty { receiver?(.retired(gone)) }
        if !new.isEmpty { receiver?(.announced(new)) }
    }

    /// Called after a store was opened: outlets that the previous store knew may be missing.
    mutating func compare(with store: OpenStore) {
        store.destinations.noteChanged(known)
        announceChanges(in: store)
    }

    /// Notes that delivery asks for packets. An outlet that was just removed is announced again
    /// later.
    mutating func request(_ count: Int, for outlet: Outlet, in store: OpenStore?) {
        guard known.contains(outlet) else { return }
        demand.raise(outlet, by: count)
        store?.destinations.noteDemand(for: outlet)
    }
}
