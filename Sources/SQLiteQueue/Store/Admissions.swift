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

/// The logstores of a destination that have logs in the queue, and the places for them.
///
/// If a destination takes any logstore, devices can invent names. Logs for a logstore that does not
/// exist stay until they are too old. So up to half of the places are reserved for logstores that
/// are known to exist, one for each of them.
struct LogstoreBook {
    enum Change {
        case busy(String), quiet(String), proven(String)
        case most(Int)
    }

    private(set) var most: Int
    /// Logstores that have logs in the queue. `proven` holds those that have ever taken a packet.
    private(set) var busy: Set<String> = []
    private(set) var proven: Set<String> = []
    /// The number of busy logstores that are not proven.
    private var unproven = 0

    init(most: Int) {
        self.most = most
    }

    mutating func apply(_ change: Change) {
        switch change {
        case .busy(let name):
            if busy.insert(name).inserted, !proven.contains(name) { unproven += 1 }
        case .quiet(let name):
            if busy.remove(name) != nil, !proven.contains(name) { unproven -= 1 }
        case .proven(let name):
            if proven.insert(name).inserted, busy.contains(name) { unproven -= 1 }
        case .most(let most): self.most = most
        }
    }

    fileprivate var left: Int { most - busy.count }
    fileprivate var unprovenLeft: Int { most - min(most / 2, proven.count) - unproven }

    /// True if there is a place for any logstore.
    var isOpen: Bool { left > 0 && unprovenLeft > 0 }

    func has(_ logstore: String) -> Bool {
        LogstorePlaces().has(logstore, in: self)
    }
}

/// The places that one request takes, logstore by logstore, to find those that get none.
struct LogstorePlaces {
    private var taken: Set<String> = []
    private var unprovenTaken = 0

    func has(_ logstore: String, in book: LogstoreBook) -> Bool {
        if book.busy.contains(logstore) || taken.contains(logstore) { return true }
        return book.left - taken.count > 0
            && (book.unprovenLeft - unprovenTaken > 0 || book.proven.contains(logstore))
    }

    /// Takes a place for the logstore. Returns false if there is none.
    mutating func take(_ logstore: String, in book: LogstoreBook) -> Bool {
        guard has(logstore, in: book) else { return false }
        guard !book.busy.contains(logstore), taken.insert(logstore).inserted else { return true }
        if !book.proven.contains(logstore) { unprovenTaken += 1 }
        return true
    }
}

/// A book at the last commit, for other threads.
typealias PublishedLogstores = Locked<LogstoreBook>

/// The owner's book and the published one, which gets changes and never a copy: a destination may
/// have some thousand logstores.
struct SharedLogstores {
    private(set) var book: LogstoreBook
    let published: PublishedLogstores
    private var unpublished: [LogstoreBook.Change] = []

    init(most: Int) {
        book = LogstoreBook(most: most)
        published = PublishedLogstores(book)
    }

    mutating func apply(_ change: LogstoreBook.Change) {
        book.apply(change)
        unpublished.append(change)
    }

    /// Makes both books equal. Called after a commit.
    mutating func publish() {
        guard !unpublished.isEmpty else { return }
        published.withLock { book in
            for change in unpublished { book.apply(change) }
        }
        unpublished.removeAll(keepingCapacity: true)
    }
}
