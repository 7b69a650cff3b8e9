import Queue

extension StreamID {
    /// A stream of the home shard.
    static func home(_ number: Int64) -> StreamID { StreamID(shard: .home, number: number) }
}
