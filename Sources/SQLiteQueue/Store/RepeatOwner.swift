import Queue

/// The owner of remembered requests: a device key and a destination.
///
/// A start must know the owners, or one key could displace requests that other devices have to
/// repeat. So the first bytes of the stored digest name the owner: three bytes for the key, two for
/// the destination. The other eleven identify the request.
struct RepeatOwner: Hashable {
    /// The bytes of a stored digest that name its owner.
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

    /// The stored form of the digest.
    func marking(_ digest: [UInt8]) -> [UInt8] {
        let head = [
            UInt8(truncatingIfNeeded: sender >> 16), UInt8(truncatingIfNeeded: sender >> 8),
            UInt8(truncatingIfNeeded: sender), UInt8(truncatingIfNeeded: destination >> 8),
            UInt8(truncatingIfNeeded: destination),
        ]
        return head + digest.dropFirst(Self.bytes)
    }

    /// FNV-1a, folded. The operator chooses the names, so an attacker cannot make them collide.
    private static func hash(_ name: String) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash ^ hash >> 24 ^ hash >> 48
    }
}

/// The numbers of remembered requests by owner, oldest first. If there are too many, the key with
/// the most of them has to forget, and of its destinations the one with the most. So a key that
/// sends many requests displaces its own, and a key with less than an equal part loses nothing.
struct RepeatOwners {
    /// Ascending numbers. The front leaves first.
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
    /// The number of requests of each key.
    private var bySender: [UInt32: Int] = [:]

    mutating func add(_ owner: RepeatOwner, number: Int64) {
        lines[owner, default: Line()].append(number)
        bySender[owner.sender, default: 0] += 1
    }

    /// Removes the oldest request of the owner.
    mutating func remove(_ owner: RepeatOwner, number: Int64) {
        guard let count = lines[owner]?.count else { return }
        lines[owner]?.remove(number)
        if lines[owner]?.count == 0 { lines[owner] = nil }
        let removed = count - (lines[owner]?.count ?? 0)
        let left = bySender[owner.sender, default: 0] - removed
        bySender[owner.sender] = left > 0 ? left : nil
    }

    /// Above this number the owners are not distinguished, because each has next to nothing. Then
    /// the oldest of all leave.
    static let ownersMax = 4096

    /// The oldest requests of the owner with the most: at most `most`, and at most an eighth of
    /// them, so that it keeps its latest requests. Nil if all have the same owner.
    func displaced(atMost most: Int) -> (owner: RepeatOwner, numbers: ArraySlice<Int64>)? {
        guard lines.count > 1, lines.count <= Self.ownersMax,
            let sender = bySender.max(by: { $0.value < $1.value })?.key
        else { return nil }
        return lines.filter { $0.key.sender == sender }
            .max { $0.value.count < $1.value.count }
            .map { owner, line in (owner, line.oldest(min(most, max(1, line.count / 8)))) }
    }
}
