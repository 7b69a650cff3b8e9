import Net

/// The connections of one loop, by slot.
///
/// A slot is used again after its connection has closed. Its generation tells the present user from
/// earlier ones, so a late event or answer for a closed connection finds nothing.
struct ConnectionTable {
    /// The first slots have fixed users.
    static let listener = 0
    static let wakeUp = 1
    private static let firstConnection = 2

    private var slots: [ClientConnection?]
    private var generations: [UInt32]
    private var freeSlots: [Int] = []

    init() {
        slots = Array(repeating: nil, count: Self.firstConnection)
        generations = Array(repeating: 0, count: Self.firstConnection)
    }

    static func token(ofFixedSlot slot: Int) -> PollToken {
        PollToken(slot: UInt32(slot), generation: 0)
    }

    var isEmpty: Bool { slots.count - freeSlots.count == Self.firstConnection }

    /// A copy, so a connection may close while the caller goes through it.
    var all: [ClientConnection] { slots.compactMap(\.self) }

    subscript(slot: Int) -> ClientConnection? { slots[slot] }

    /// The present user of the slot, if the token means it and not an earlier one.
    subscript(token: PollToken) -> ClientConnection? {
        guard let connection = slots[Int(token.slot)], connection.token == token else { return nil }
        return connection
    }

    /// A free slot with a new generation. The caller inserts a connection with this token.
    mutating func reserve() -> PollToken {
        let slot: Int
        if let free = freeSlots.popLast() {
            slot = free
        } else {
            slot = slots.count
            slots.append(nil)
            generations.append(0)
        }
        generations[slot] &+= 1
        return PollToken(slot: UInt32(slot), generation: generations[slot])
    }

    mutating func insert(_ connection: ClientConnection) {
        let slot = Int(connection.token.slot)
        precondition(slots[slot] == nil, "a slot has one connection")
        slots[slot] = connection
    }

    mutating func remove(_ token: PollToken) {
        let slot = Int(token.slot)
        precondition(
            slots[slot]?.token == token,
            "a closed connection gives back only its own slot"
        )
        slots[slot] = nil
        freeSlots.append(slot)
    }
}
