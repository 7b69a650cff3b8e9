import Queue
import SQLite

/// Packets that delivery is done with in one way or another, until a transaction has settled that.
struct PacketReturns {
    /// Their destination has stored them.
    private(set) var acknowledged: [Int64] = []
    /// Delivery could not read them.
    private var unreadable: Set<Int64> = []
    /// Delivery has learned that they are recalled.
    private var recalled: Set<Int64> = []
    /// SLS has seen their sequence numbers.
    private var relaned: Set<Int64> = []

    mutating func acknowledge(_ number: Int64) { acknowledged.append(number) }
    mutating func addUnreadable(_ number: Int64) { unreadable.insert(number) }
    mutating func addRecalled(_ number: Int64) { recalled.insert(number) }
    mutating func relane(_ number: Int64) { relaned.insert(number) }

    /// Applies them in the transaction at hand, but for lanes.
    func apply(
        to store: OpenStore,
        _ packets: PacketsInDelivery,
        _ losses: inout TransactionLosses
    ) throws(SQLiteError) {
        for number in acknowledged {
            try store.acknowledgements.acknowledge(number, at: packets.place(of: number)) {
                packets.isHeld($0)
            }
        }
        for number in unreadable where try !losses.expire(number, in: store) {
            losses.note(damaged: try store.packets.mend(number), in: number)
        }
        // Too old, or as they were for another logstore.
        for number in recalled where try !losses.expire(number, in: store) {
            store.packets[number]?.stream.outlet.sealedBefore.append(number)
        }
    }

    func changeLanes(in store: OpenStore) throws(SQLiteError) {
        for number in relaned { try store.packets.relane(number) }
    }

    /// The transaction is durable: delivery holds none of them any more. Returns how many got another lane.
    mutating func settle(_ packets: PacketsInDelivery) -> Int {
        packets.takeBack(acknowledged)
        packets.takeBack(unreadable)
        packets.takeBack(recalled)
        packets.takeBack(relaned)
        acknowledged.removeAll(keepingCapacity: true)
        unreadable.removeAll(keepingCapacity: true)
        recalled.removeAll(keepingCapacity: true)
        defer { relaned.removeAll() }
        return relaned.count
    }
}

extension TransactionLosses {
    /// Drops the rows of a packet that are too old. Delivery must not hold it. False when there were none.
    mutating func expire(_ number: Int64, in store: OpenStore) throws(SQLiteError) -> Bool {
        guard let name = store.packets[number]?.stream.key.destination else { return false }
        let logs = try store.packets.expire(packet: number)
        if logs > 0 { note(expired: [name: logs]) }
        return logs > 0
    }
}
