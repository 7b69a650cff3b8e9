/// Finds the remembered request with a given digest.
///
/// On disk the requests are in the order of their arrival: remembering appends at one end,
/// forgetting cuts off the other, and both write few pages. In the order of digests each request
/// would dirty its own pages: with 200,000 remembered requests and 30 more per commit that wrote 18
/// KB of log per request instead of 0.6, and took 89 µs instead of 14.
///
/// So this index maps a digest to its row in memory, at 16 bytes per place: 8 MiB for 200,000. It
/// keeps 8 bytes of the digest; the row has all of it and decides.
struct RepeatIndex {
    private var numbers: [UInt64: Int64] = [:]
    /// The owners of the requests, at 8 bytes each.
    private var owners = RepeatOwners()
    /// The number of rows, including rows that share a place.
    private(set) var count = 0

    /// The number of the row to look at.
    func number(of digest: [UInt8]) -> Int64? {
        numbers.isEmpty ? nil : numbers[Self.place(of: digest)]
    }

    /// `digest` is the stored form, which names the owner.
    mutating func add(_ digest: [UInt8], number: Int64) {
        guard digest.count == RepeatRecord.digestBytes else { return }
        numbers[Self.place(of: digest)] = number
        owners.add(RepeatOwner(digest: digest), number: number)
        count += 1
    }

    mutating func remove(_ digest: [UInt8], number: Int64) {
        guard digest.count == RepeatRecord.digestBytes else { return }
        count -= 1
        owners.remove(RepeatOwner(digest: digest), number: number)
        let place = Self.place(of: digest)
        if numbers[place] == number { numbers[place] = nil }
    }

    /// Requests that make room for others. Nil if one owner sent all of them; then the oldest of
    /// all leave.
    func displaced(atMost most: Int) -> (owner: RepeatOwner, numbers: ArraySlice<Int64>)? {
        owners.displaced(atMost: most)
    }

    /// Removes a request whose row no longer exists.
    mutating func removeLost(_ owner: RepeatOwner, number: Int64) {
        count -= 1
        owners.remove(owner, number: number)
    }

    private static func place(of digest: [UInt8]) -> UInt64 {
        digest.dropFirst(RepeatOwner.bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
