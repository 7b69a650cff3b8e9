import System

/// The logstores of a destination that have logs in the queue, and the places for them.
///
/// If a destination takes any logstore, devices choose the names and can invent some. Logs for a
/// logstore that does not exist stay until they are too old, and would keep the place of a real
/// logstore. So up to half of the places are reserved for logstores that are known to exist, one
/// for each of them.
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

/// The owner's book and the published one. The owner sends the published one its changes, never a
/// copy: a destination may have some thousand logstores.
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
