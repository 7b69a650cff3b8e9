import System

/// The names of shards. No name is used twice, because the removal of a log is not fenced: a
/// gateway that stood still in the middle of it would otherwise remove a log of later.
enum ShardName {
    private static let separator: Character = "~"
    private static let randomBytesCount = 4

    /// A new name for the home shard of a node.
    static func new(for node: String) -> String {
        "\(node)\(separator)\(hex(randomBytes(randomBytesCount)))"
    }

    /// The node whose home the shard began as; nil: the name is none of a shard.
    static func node(of shard: String) -> String? {
        guard let end = shard.lastIndex(of: separator) else { return nil }
        let random = shard[shard.index(after: end)...].utf8
        guard random.count == 2 * randomBytesCount, random.allSatisfy(isHexDigit) else {
            return nil
        }
        return String(shard[..<end])
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
