extension QueueOwner {
    func admissions() -> Admissions {
        var admissions = Admissions(queue: admission)
        // Where nothing can be stored, it cannot for any destination.
        guard let store, admissions.queue == .open || admissions.queue == .full else {
            return admissions
        }
        let same = DestinationAdmission(bytes: admissions.queue)
        for (name, destination) in store.destinations {
            let own = store.admission(of: destination)
            if own != same { admissions.destinations[name] = own }
        }
        return admissions
    }

    private var admission: QueueAdmission {
        if isStopping { return .stopping }
        guard let store else { return problem?.kind == .diskFull ? .diskFull : .failing }
        if roomBytes < configuration.tuning.rowBytes { return .diskFull }
        return store.admission
    }

    /// Says in the journal what has changed.
    func announce(_ admissions: Admissions) {
        announce(admissions.queue)
        guard let store, !admissions.destinations.isEmpty || !announcedFull.isEmpty else { return }
        for (name, destination) in store.destinations {
            announce(name, admissions.of(name), destination)
        }
    }
}
