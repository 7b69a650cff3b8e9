import Queue
import System

/// What is said to all batches for the sake of the queue as a whole.
struct QueueAdmissions: Equatable {
    var queue: QueueAdmission
    /// To batches of destinations whose oldest logs make room.
    var whereRoomIsMade: QueueAdmission
}

/// What is said to batches of one destination.
struct DestinationAdmission {
    /// There is no room for more bytes of it.
    var isFull = false
    /// Its oldest logs make room for new ones.
    var makesRoom = false
    /// Nil while there are more places than a request can name.
    var logstores: PublishedLogstores?
    /// There is a place for any logstore.
    var arePlacesOpen = true

    func bytes(_ all: QueueAdmissions) -> QueueAdmission {
        // Where nothing can be stored, it cannot for any destination.
        guard all.queue == .open || all.queue == .full else { return all.queue }
        if isFull { return .destinationFull }
        return makesRoom ? all.whereRoomIsMade : all.queue
    }

    func of(_ logstore: String, _ all: QueueAdmissions) -> QueueAdmission {
        let bytes = bytes(all)
        guard bytes == .open, let logstores else { return bytes }
        return logstores.withLock { $0.has(logstore) } ? .open : .tooManyLogstores
    }

    /// Some of its batches get another answer than the queue's.
    fileprivate func differs(from all: QueueAdmissions) -> Bool {
        bytes(all) != all.queue || !arePlacesOpen
    }
}

/// What is said to batches of all destinations. Changed destination by destination.
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

    /// Some batches get another answer than the queue's.
    var differ: Bool { differing > 0 }
}
