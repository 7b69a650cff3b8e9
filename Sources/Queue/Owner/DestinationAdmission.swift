/// What is said to batches of one destination.
struct DestinationAdmission: Equatable {
    /// Whether there is room for more bytes.
    var bytes: QueueAdmission
    /// Nil while there are more than a request can name.
    var places: LogstorePlaces?

    func of(_ logstore: String) -> QueueAdmission {
        guard bytes == .open, let places else { return bytes }
        return places.has(logstore) ? .open : .tooManyLogstores
    }

    /// Whether it is this to batches of any logstore.
    func isAlways(_ admission: QueueAdmission) -> Bool {
        bytes == admission && places?.areOpen != false
    }
}

/// What is said to batches of all destinations.
struct Admissions: Equatable {
    var queue: QueueAdmission
    var destinations: [String: DestinationAdmission] = [:]

    /// Of the destination as a whole.
    func of(_ destination: String) -> QueueAdmission {
        destinations[destination]?.bytes ?? queue
    }

    /// Whether some batches are told something else than that of the queue.
    var differ: Bool { destinations.values.contains { !$0.isAlways(queue) } }
}
