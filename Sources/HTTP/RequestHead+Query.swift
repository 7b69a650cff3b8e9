import System

extension RequestHead {
    /// The query's pairs, decoded; nil when the query is malformed.
    package var queryPairs: [(name: String, value: String)]? {
        guard let query, !query.isEmpty else { return [] }
        var pairs: [(name: String, value: String)] = []
        for part in bytes[query].split(separator: UInt8(ascii: "&")) {
            let sides = part.split(
                separator: UInt8(ascii: "="),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard let name = percentDecodedText(sides[0]),
                let value = sides.count == 2 ? percentDecodedText(sides[1]) : ""
            else { return nil }
            pairs.append((name, value))
        }
        return pairs
    }
}
