import Queue

extension OpenStore {
    func destination(_ name: String) -> QueuedDestination {
        if let known = destinations[name] { return known }
        let new = QueuedDestination(
            name: name,
            rules: configuration.rules(name),
            ledger: Ledger(),
            dirty
        )
        destinations[name] = new
        new.note()
        return new
    }

    func outlet(_ name: Outlet) -> QueuedOutlet {
        let destination = destination(name.destination)
        if let known = destination.outlets[name.logstore] { return known }
        let new = QueuedOutlet(name, of: destination)
        destination.outlets[name.logstore] = new
        changedOutlets.insert(name)
        return new
    }

    func knows(_ name: Outlet) -> Bool {
        destinations[name.destination]?.outlets[name.logstore] != nil
    }

    var allOutlets: some Sequence<Outlet> {
        destinations.values.lazy.flatMap { $0.outlets.values.lazy.map(\.name) }
    }

    /// A stream of the outlet is forgotten, and with the last one the outlet.
    func leave(_ outlet: QueuedOutlet) {
        outlet.streamCount -= 1
        guard outlet.streamCount == 0 else { return }
        outlet.destination.outlets[outlet.name.logstore] = nil
        changedOutlets.insert(outlet.name)
    }
}
