import Queue

extension QueueOwner {
    /// Tells a new receiver of all outlets. Between two turns all that the store knows is committed.
    func announceAll(to receiver: @escaping @Sendable ([Outlet]) -> Void) {
        outletReceiver = receiver
        if !outlets.isEmpty { receiver(Array(outlets)) }
    }

    /// After a commit: tells of outlets that it brought, and of those that were forgotten.
    func announceChanges(in store: OpenStore) {
        guard !store.changedOutlets.isEmpty else { return }
        var new: [Outlet] = []
        var gone: [Outlet] = []
        for name in store.changedOutlets {
            if store.knows(name) {
                if outlets.insert(name).inserted { new.append(name) }
            } else if outlets.remove(name) != nil {
                demand.forget(name)
                store.noteDemand(for: name)
                gone.append(name)
            }
        }
        store.changedOutlets.removeAll(keepingCapacity: true)
        if !gone.isEmpty { retiredReceiver?(gone) }
        if !new.isEmpty { outletReceiver?(new) }
    }

    /// A store was opened: outlets may be missing that the one before it knew.
    func compareOutlets(with store: OpenStore) {
        store.changedOutlets.formUnion(outlets)
        announceChanges(in: store)
    }

    /// Asked for an outlet that was forgotten a moment ago, nothing is remembered: it will be announced anew.
    func request(_ count: Int, for outlet: Outlet) {
        guard outlets.contains(outlet) else { return }
        demand.raise(outlet, by: count)
        store?.noteDemand(for: outlet)
    }
}
