/// What is said to batches of one destination.
struct DestinationAdmission: Equatable {
    /// Whether there is room for more bytes.
    var bytes: QueueAdmission
    /// Set while others must wait for a place.
    var onlyLogstores: Set<String>?

    func of(_ logstore: String) -> QueueAdmission {
        guard bytes == .open, let onlyLogstores else { return bytes }
        return onlyLogstores.contains(logstore) ? .open : .tooManyLogstores
    }

}

/// What is said to batches of all destinations.
struct Admissions: Equatable {
    var queue: QueueAdmission
    /// Where it is something else than of the queue.
    var destinations: [String: DestinationAdmission] = [:]

    /// Of the destination as a whole.
    func of(_ destination: String) -> QueueAdmission {
        destinations[destination]?.bytes ?? queue
    }
}
