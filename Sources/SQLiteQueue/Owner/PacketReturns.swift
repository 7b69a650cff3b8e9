import Queue
import SQLite

/// Packets that delivery has given back, until a transaction has processed them.
struct PacketReturns {
    /// Packets that their destination has stored.
    private(set) var acknowledged: [Int64] = []
    /// Packets that delivery could not read.
    private var unreadable: Set<Int64> = []
    /// Packets that delivery knows to be recalled.
    private var recalled: Set<Int64> = []
    /// Packets whose sequence numbers SLS has seen.
    private var relaned: Set<Int64> = []

    mutating func acknowledge(_ number: Int64) { acknowledged.append(number) }
    mutating func addUnreadable(_ number: Int64) { unreadable.insert(number) }
    mutating func addRecalled(_ number: Int64) { recalled.insert(number) }
    mutating func relane(_ number: Int64) { relaned.insert(number) }

    /// Processes them in the current transaction, except for lanes.
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
        // These are too old, or were handed over for another logstore.
        for number in recalled where try !losses.expire(number, in: store) {
            store.packets[number]?.stream.outlet.sealedBefore.append(number)
        }
    }

    func changeLanes(in store: OpenStore) throws(SQLiteError) {
        for number in relaned { try store.packets.relane(number) }
    }

    /// Called after the transaction is durable: delivery no longer holds any of them. Returns the
    /// number of packets that got another lane.
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
    /// Drops the rows of a packet that are too old. Delivery must not hold the packet. Returns
    /// false if there were none.
    mutating func expire(_ number: Int64, in store: OpenStore) throws(SQLiteError) -> Bool {
        guard let name = store.packets[number]?.stream.key.destination else { return false }
        let logs = try store.expiry.expire(packet: number)
        if logs > 0 { note(expired: [name: logs]) }
        return logs > 0
    }
}
