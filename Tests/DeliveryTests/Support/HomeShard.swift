import Queue

extension PacketID {
    /// A packet of the home shard.
    static func home(_ number: Int64) -> PacketID { PacketID(shard: .home, number: number) }
}

extension StreamID {
    static let any = StreamID(shard: .home, number: 1)
}
