/// One of the queues that together are the gateway's queue: a database with its own numbers, lanes
/// and ledger. Devices' logs go to the gateway's home shard.
///
/// The process gives the number, and never again one that anything outside has seen: it stands for
/// the shard's name in each packet.
package struct Shard: Hashable, Sendable {
    package static let home = Shard(number: 0)

    package let number: Int

    package init(number: Int) {
        precondition(number < 1 << 15, "ids of dead letters have no more room for it")
        self.number = number
    }
}

// MARK: - Dead letters

extension Shard {
    /// Enough for nine years at a million logs a second.
    private static let letterBits: Int64 = 48

    /// The id of a dead letter outside of the shard: in the first home shard its number.
    package func letterID(_ number: Int64) -> Int64 {
        Int64(self.number) << Self.letterBits + number
    }

    /// True if a dead letter of a shard can have the number, or 0, which is before the first one.
    package static func canNumber(_ number: Int64) -> Bool {
        (0..<1 << letterBits).contains(number)
    }

    /// The number in this shard of a dead letter; nil: it is another shard's.
    package func number(ofLetter id: Int64) -> Int64? {
        Shard(ofLetter: id) == self ? id - letterID(0) : nil
    }

    /// The shard of a dead letter.
    package init(ofLetter id: Int64) {
        self.init(number: Int(max(0, id) >> Self.letterBits))
    }
}

/// Names a packet. Numbers are unique only within a shard.
package struct PacketID: Hashable, Sendable {
    package let shard: Shard
    package let number: Int64

    package init(shard: Shard, number: Int64) {
        self.shard = shard
        self.number = number
    }
}

extension PacketID: Comparable {
    /// Packets of a shard in the order in which they were sealed.
    package static func < (left: PacketID, right: PacketID) -> Bool {
        (left.shard.number, left.number) < (right.shard.number, right.number)
    }
}

extension PacketID: CustomStringConvertible {
    package var description: String {
        shard == .home ? "packet \(number)" : "packet \(number) of shard \(shard.number)"
    }
}

/// Names a stream as its shard numbers it. Rows of several streams of a shard may interleave.
package struct StreamID: Hashable, Sendable {
    package let shard: Shard
    package let number: Int64

    package init(shard: Shard, number: Int64) {
        self.shard = shard
        self.number = number
    }
}
