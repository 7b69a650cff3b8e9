/// The name by which operators know a dead letter: its number, behind the name of its shard in a
/// cluster. There it stays the same whichever gateway has the shard.
package struct LetterName: Hashable, Sendable, CustomStringConvertible {
    /// nil: the gateway takes part in no cluster.
    package let shard: String?
    package let number: Int64

    package init(shard: String?, number: Int64) {
        self.shard = shard
        self.number = number
    }

    /// "17", or "gw-1~0a1b2c3d-17". nil: it is none.
    package init?(_ text: some StringProtocol) {
        let end = text.lastIndex(of: "-")
        let digits = String(end.map { text[text.index(after: $0)...] } ?? text[...])
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits),
            end != text.startIndex
        else { return nil }
        self.init(shard: end.map { String(text[..<$0]) }, number: number)
    }

    package var description: String { (shard.map { "\($0)-" } ?? "") + "\(number)" }
}

extension DeadLetters {
    package var letterShards: [String] { [] }

    package func letterName(_ id: Int64) -> LetterName { LetterName(shard: nil, number: id) }

    package func letterID(_ name: LetterName) -> Int64? { name.shard == nil ? name.number : nil }
}
