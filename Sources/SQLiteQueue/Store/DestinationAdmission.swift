import Queue
import System

/// The queue's answer to all batches.
struct QueueAdmissions: Equatable {
    var queue: QueueAdmission
    /// The answer to batches of destinations whose oldest logs make room.
    var whereRoomIsMade: QueueAdmission
}

/// The answer to batches of one destination.
struct DestinationAdmission {
    /// True if the destination has no room for more bytes.
    var isFull = false
    /// True if its oldest logs make room for new ones.
    var makesRoom = false
    /// Nil while there are more places than a request can name.
    var logstores: PublishedLogstores?
    /// True if there is a place for any logstore.
    var arePlacesOpen = true

    func bytes(_ all: QueueAdmissions) -> QueueAdmission {
        // If the queue can store nothing, it can store nothing for any destination.
        guard all.queue == .open || all.queue == .full else { return all.queue }
        if isFull { return .destinationFull }
        return makesRoom ? all.whereRoomIsMade : all.queue
    }

    func of(_ logstore: String, _ all: QueueAdmissions) -> QueueAdmission {
        let bytes = bytes(all)
        guard bytes == .open, let logstores else { return bytes }
        return logstores.withLock { $0.has(logstore) } ? .open : .tooManyLogstores
    }

    /// True if some batches of the destination get another answer than the queue's.
    fileprivate func differs(from all: QueueAdmissions) -> Bool {
        bytes(all) != all.queue || !arePlacesOpen
    }
}

/// The answers to batches of all destinations. The owner changes them destination by destination.
struct Admissions {
    private(set) var all: QueueAdmissions
    private(set) var destinations: [String: DestinationAdmission] = [:]
    private var differing = 0

    init(queue: QueueAdmission) {
        all = QueueAdmissions(queue: queue, whereRoomIsMade: queue)
    }

    init(_ all: QueueAdmissions, _ destinations: [String: DestinationAdmission]) {
        self.all = all
        self.destinations = destinations
        differing = destinations.values.count { $0.differs(from: all) }
    }

    mutating func set(_ all: QueueAdmissions) {
        guard all != self.all else { return }
        self = Admissions(all, destinations)
    }

    mutating func set(_ admission: DestinationAdmission, of name: String) {
        if destinations[name]?.differs(from: all) == true { differing -= 1 }
        if admission.differs(from: all) { differing += 1 }
        destinations[name] = admission
    }

    /// True if some batches get another answer than the queue's.
    var differ: Bool { differing > 0 }
}
