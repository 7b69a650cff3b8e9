extension QueueOwner {
    func admissions() -> Admissions {
        var admissions = Admissions(queue: admission)
        // Where nothing can be stored, it cannot for any destination.
        guard let store, admissions.queue == .open || admissions.queue == .full else {
            return admissions
        }
        for (name, destination) in store.destinations {
            admissions.destinations[name] = store.admission(of: destination)
        }
        // Of these nothing has come yet.
        for (name, rules) in configuration.destinations where store.destinations[name] == nil {
            let places = LogstorePlaces(busy: [], proven: [], most: rules.logstoresMax)
            admissions.destinations[name] = .init(bytes: admissions.queue, places: places)
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
        guard let store, admissions.differ || !announcedFull.isEmpty else { return }
        for (name, destination) in store.destinations {
            announce(name, admissions.of(name), destination)
        }
    }
}
