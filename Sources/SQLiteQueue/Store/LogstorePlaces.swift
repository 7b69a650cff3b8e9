import System

/// Which logstores of a destination have logs in the queue, and which have places.
///
/// Devices name the logstores of a destination that takes any, so they can invent some. What is for a logstore that
/// does not exist stays until it is too old, and would keep the place of one that does. So up to half of the places are
/// kept for logstores that are known to exist, as many as there are.
struct LogstoreBook {
    enum Change {
        case busy(String), quiet(String), proven(String)
        case most(Int)
    }

    private(set) var most: Int
    /// Those that have logs in the queue, and those that took a packet once.
    private(set) var busy: Set<String> = []
    private(set) var proven: Set<String> = []
    /// Busy, and not proven.
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

    /// There is a place for any logstore.
    var isOpen: Bool { left > 0 && unprovenLeft > 0 }

    func has(_ logstore: String) -> Bool {
        LogstorePlaces().has(logstore, in: self)
    }
}

/// The places that one request takes, one logstore after the other, to know which have none.
struct LogstorePlaces {
    private var taken: Set<String> = []
    private var unprovenTaken = 0

    func has(_ logstore: String, in book: LogstoreBook) -> Bool {
        if book.busy.contains(logstore) || taken.contains(logstore) { return true }
        return book.left - taken.count > 0
            && (book.unprovenLeft - unprovenTaken > 0 || book.proven.contains(logstore))
    }

    /// Takes a place for the logstore as well. False when there is none.
    mutating func take(_ logstore: String, in book: LogstoreBook) -> Bool {
        guard has(logstore, in: book) else { return false }
        guard !book.busy.contains(logstore), taken.insert(logstore).inserted else { return true }
        if !book.proven.contains(logstore) { unprovenTaken += 1 }
        return true
    }
}

/// A book as of the last commit, for those who ask from other threads. The owner brings it changes, never a copy: a
/// destination may have some thousand logstores.
typealias PublishedLogstores = Locked<LogstoreBook>
