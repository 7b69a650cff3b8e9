/// What one destination holds of the memory that all destinations share. Each byte is released
/// once.
struct MemoryShare {
    private let memory: DeliveryMemory
    private let entry: AgendaEntry
    private var contents = 0
    private var bodies = 0
    /// The next request waits until others leave room for its body.
    private var isWaiting = false
    /// How often a request began to wait for room.
    private(set) var waits = 0

    init(_ memory: DeliveryMemory, _ entry: AgendaEntry) {
        self.memory = memory
        self.entry = entry
    }

    var used: Int { contents + bodies }

    /// Reserves room for the content of a packet that waits for its turn; false when there is none.
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

    /// True when a request with a body of this size may go. Otherwise the destination waits: it is
    /// looked at in each turn until there is room.
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
