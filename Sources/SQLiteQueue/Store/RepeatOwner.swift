import Queue

/// Who sent requests that are remembered: a device key and a destination.
///
/// A start must know it, or one key could displace what others have to repeat. So it stands in the first bytes of the
/// digest that is stored: three of the key, two of the destination. The other eleven tell one request from another. In
/// requests that an earlier version remembered these bytes belong to the digest, and name owners that do not exist.
struct RepeatOwner: Hashable {
    /// Bytes of a stored digest that name its owner.
    static let bytes = 5

    let sender: UInt32
    let destination: UInt16

    init(sender: String?, destination: String) {
        let sender = sender.map { Self.hash("s" + $0) } ?? Self.hash("")
        self.sender = UInt32(truncatingIfNeeded: sender) & 0xFF_FFFF
        self.destination = UInt16(truncatingIfNeeded: Self.hash(destination))
    }

    init(digest: [UInt8]) {
        sender = digest[0..<3].reduce(0) { $0 << 8 | UInt32($1) }
        destination = digest[3..<5].reduce(0) { $0 << 8 | UInt16($1) }
    }

    /// The digest as it is stored.
    func marking(_ digest: [UInt8]) -> [UInt8] {
        let head = [
            UInt8(truncatingIfNeeded: sender >> 16), UInt8(truncatingIfNeeded: sender >> 8),
            UInt8(truncatingIfNeeded: sender), UInt8(truncatingIfNeeded: destination >> 8),
            UInt8(truncatingIfNeeded: destination),
        ]
        return head + digest.dropFirst(Self.bytes)
    }

    /// FNV-1a, folded: the operator chooses the names, so an attacker cannot make them collide.
    private static func hash(_ name: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash ^ hash >> 24 ^ hash >> 48
    }
}

/// The numbers of remembered requests by their owner, oldest first, and which owner has to forget when there are too
/// many: the key with the most of them, and of its destinations the one with the most. So a key that sends many requests
/// displaces its own, and who has less than an equal part loses nothing.
struct RepeatOwners {
    /// Ascending numbers; the front goes first.
    private struct Line {
        private var numbers: [Int64] = []
        private var head = 0

        var count: Int { numbers.count - head }

        mutating func append(_ number: Int64) { numbers.append(number) }

        mutating func remove(_ number: Int64) {
            guard head < numbers.count, numbers[head] == number else { return }
            head += 1
            guard head > 32, head * 2 > numbers.count else { return }
            numbers.removeFirst(head)
            head = 0
        }

        func oldest(_ most: Int) -> ArraySlice<Int64> { numbers[head...].prefix(most) }
    }

    private var lines: [RepeatOwner: Line] = [:]
    /// How many each key has.
    private var bySender: [UInt32: Int] = [:]

    mutating func add(_ owner: RepeatOwner, number: Int64) {
        lines[owner, default: Line()].append(number)
        bySender[owner.sender, default: 0] += 1
    }

    /// The oldest of the owner's.
    mutating func remove(_ owner: RepeatOwner, number: Int64) {
        guard let count = lines[owner]?.count else { return }
        lines[owner]?.remove(number)
        if lines[owner]?.count == 0 { lines[owner] = nil }
        let removed = count - (lines[owner]?.count ?? 0)
        let left = bySender[owner.sender, default: 0] - removed
        bySender[owner.sender] = left > 0 ? left : nil
    }

    /// More owners are not told apart: the rows of an earlier version, whose owners are made up, or so many keys that each
    /// has next to nothing. Then the oldest of all go.
    static let ownersMax = 4096

    /// The oldest requests of the one that has most, so many at most, and an eighth of them at most: it keeps what its
    /// devices sent last. Nil where all are one owner's.
    func displaced(atMost most: Int) -> (owner: RepeatOwner, numbers: ArraySlice<Int64>)? {
        guard lines.count > 1, lines.count <= Self.ownersMax,
            let sender = bySender.max(by: { $0.value < $1.value })?.key
        else { return nil }
        return lines.filter { $0.key.sender == sender }
            .max { $0.value.count < $1.value.count }
            .map { owner, line in (owner, line.oldest(min(most, max(1, line.count / 8)))) }
    }
}
