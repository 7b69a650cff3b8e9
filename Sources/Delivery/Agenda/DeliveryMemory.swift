/// The memory that all destinations share: content of waiting packets, and bodies of requests under
/// way. For the delivery thread only.
///
/// A quarter is reserved for first requests: of the rest a destination gets no more than it then
/// leaves free. A destination without any request gets what is free; if that is too little, the
/// others wait. So destinations that hang cannot keep a healthy one from sending.
final class DeliveryMemory {
    /// Content in memory for one destination; more is read from disk when its turn comes.
    static let contentsOfOneMax = 32 << 20

    let max: Int
    private(set) var contents = 0
    private(set) var bodies = 0
    /// Room that destinations without any request wait for in this turn.
    private var claimed = 0
    /// Destinations whose next request found no room.
    private var waiters = GateWaiters()

    init(max: Int) {
        self.max = max
    }

    var used: Int { contents + bodies }

    /// Looks at every waiting destination in each turn, so that what it claims is kept for it. Room
    /// comes with the end of a request, and that begins a turn.
    func beginTurn() {
        claimed = 0
        waiters.wake()
    }

    func wait(_ entry: AgendaEntry) { waiters.add(entry) }

    /// Reserves room for waiting content. Bodies always have half of the bound.
    func reserveContent(_ bytes: Int, holding own: Int) -> Bool {
        precondition(bytes >= 0 && own >= 0, "a negative amount of memory")
        let share = min(max / 2 - contents, Self.contentsOfOneMax)
        guard own + bytes <= share, used + bytes <= max else { return false }
        contents += bytes
        return true
    }

    func releaseContent(_ bytes: Int) {
        precondition((0...contents).contains(bytes), "content is given back once")
        contents -= bytes
    }

    /// May a request with this body go? Otherwise a destination without any request claims the room
    /// for this turn. Its requests under way have `own` bytes.
    func admitsBodyOrClaims(_ bytes: Int, holding own: Int) -> Bool {
        // A body above every bound counts as half of the memory, or it would never be sent.
        let bytes = min(bytes, max / 2)
        let free = max - used - claimed
        if own > 0 { return own + bytes <= free - max / 4 }
        if bytes <= free { return true }
        claimed += bytes
        return false
    }

    func reserveBody(_ bytes: Int) {
        precondition(bytes >= 0, "a negative amount of memory")
        bodies += bytes
    }

    func releaseBody(_ bytes: Int) {
        precondition((0...bodies).contains(bytes), "a body is given back once")
        bodies -= bytes
    }
}

/// One destination's part of the shared memory. Each byte is released once.
struct MemoryShare {
    private let memory: DeliveryMemory
    private let entry: AgendaEntry
    private var contents = 0
    private var bodies = 0
    /// The next request waits until others leave room for its body.
    private(set) var isWaiting = false
    /// How often a request began to wait for room.
    private(set) var waits = 0

    init(_ memory: DeliveryMemory, _ entry: AgendaEntry) {
        self.memory = memory
        self.entry = entry
    }

    var used: Int { contents + bodies }

    /// Reserves room for a waiting packet's content; false when there is none.
    mutating func reserve(content bytes: Int) -> Bool {
        guard memory.reserveContent(bytes, holding: contents) else { return false }
        contents += bytes
        return true
    }

    mutating func release(content bytes: Int) {
        precondition(bytes <= contents, "content is given back once")
        contents -= bytes
        memory.releaseContent(bytes)
    }

    /// May a request with this body go? Otherwise it is looked at in each turn until there is room.
    mutating func admitsOrWaits(body bytes: Int) -> Bool {
        let hasRoom = memory.admitsBodyOrClaims(bytes, holding: bodies)
        if !hasRoom {
            if !isWaiting { waits += 1 }
            memory.wait(entry)
        }
        isWaiting = !hasRoom
        return hasRoom
    }

    mutating func reserve(body bytes: Int) {
        bodies += bytes
        memory.reserveBody(bytes)
    }

    mutating func release(body bytes: Int) {
        precondition(bytes <= bodies, "a body is given back once")
        bodies -= bytes
        memory.releaseBody(bytes)
    }
}
