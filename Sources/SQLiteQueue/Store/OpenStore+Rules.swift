import Queue

extension OpenStore {
    /// From now on other rules and bounds hold. What is sealed already stays as it is.
    func apply(_ new: QueueConfiguration) {
        configuration = new
        shares.change(to: new.streamBounds)
        for destination in destinations.values {
            destination.rules = configuration.rules(destination.name)
        }
        droppableBytes = destinations.values.reduce(0) { sum, destination in
            destination.rules.overflow == .dropOldest ? sum + destination.waitingBytes : sum
        }
        dirty.isUnpublished = true
        scheduleAnew()
    }

    /// Files all streams where they belong by new ages or limits.
    func scheduleAnew() {
        for destination in destinations.values {
            destination.oldestFirst?.dissolve()
            destination.oldestFirst = nil
            for outlet in destination.outlets.values { outlet.forgetAges() }
        }
        let time = now()
        for stream in everyStream {
            stream.isAging = false
            stream.outlet.schedule(stream, time)
        }
    }
}
