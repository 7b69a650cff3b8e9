/// One of the queues that together are the gateway's queue: a database with its own numbers, lanes and ledger. A gateway
/// puts the logs of its devices into its home shard.
///
/// The process gives the number and never gives it again, so it stands for the shard's name in each packet.
package struct Shard: Hashable, Sendable {
    package static let home = Shard(number: 0)

    package let number: Int

    package init(number: Int) {
        self.number = number
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
