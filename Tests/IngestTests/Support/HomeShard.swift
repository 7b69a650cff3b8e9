import Queue

extension StreamID {
    /// A stream of the home shard.
    static func home(_ number: Int64) -> StreamID { StreamID(shard: .home, number: number) }
}

extension PacketID {
    static func home(_ number: Int64) -> PacketID { PacketID(shard: .home, number: number) }
}
