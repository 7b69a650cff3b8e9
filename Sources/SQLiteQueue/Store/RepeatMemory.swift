import Queue
import SQLite
import System

/// Recognises requests that a device repeats because it did not see its answer.
///
/// The transaction that stores a request's logs also stores its identity. A request with a known
/// identity stores nothing.
final class RepeatMemory: StorePart {
    let context: StoreContext
    private let ages: AgeBook
    private let files: DatabaseFiles
    private var index = RepeatIndex()
    private var forgottenEarly = 0

    init(_ ages: AgeBook, _ files: DatabaseFiles) {
        context = ages.context
        self.ages = ages
        self.files = files
    }

    /// The stored request with this identity, including one of the current transaction.
    func first(of identity: BatchIdentity) throws(SQLiteError) -> BatchIdentity? {
        guard let number = index.number(of: identity.digest) else { return nil }
        // The queue must not vouch for content of a log that may not have reached the disk.
        guard files.isLogCertain else { return nil }
        let first = try database.repeats.record(number)?.identity
        let isSame =
            first?.digest.dropFirst(RepeatOwner.bytes)
            == identity.digest.dropFirst(RepeatOwner.bytes)
        return isSame ? first : nil
    }

    func remember(_ identity: BatchIdentity, of owner: RepeatOwner) throws(SQLiteError) {
        let most = configuration.repeatsMax
        guard most > 0 else { return }
        // If the bound was lowered, housekeeping removes the rest.
        if index.count >= most { forgottenEarly += try makeRoom(atMost: forgottenForOne) }
        try database.write()
        let record = RepeatRecord(
            number: try context.takeNumber(),
            identity: BatchIdentity(
                digest: owner.marking(identity.digest),
                receipt: identity.receipt,
                logs: identity.logs
            ),
            received: now()
        )
        try database.repeats.add(record)
        index.add(record.identity.digest, number: record.number)
    }

    func adopt(_ record: RepeatRecord) throws(SQLiteError) {
        guard configuration.repeatsMax > 0 else { return }
        if let number = index.number(of: record.identity.digest),
            try database.repeats.record(number)?.identity.digest == record.identity.digest
        {
            return
        }
        guard try hasRoom(for: record) else { return }
        try database.write()
        let own = RepeatRecord(
            number: try context.takeNumber(),
            identity: record.identity,
            received: record.received
        )
        try database.repeats.add(own)
        index.add(own.identity.digest, number: own.number)
    }

    /// Makes room by forgetting requests that are older; false: there are none.
    private func hasRoom(for record: RepeatRecord) throws(SQLiteError) -> Bool {
        let most = configuration.repeatsMax
        guard index.count >= most else { return true }
        let forgotten = try forgetOldest(atMost: forgottenForOne) { begin in
            begin < record.received
        }
        forgottenEarly += max(1, forgotten)
        return forgotten > 0
    }

    /// How many are forgotten to make room for one: many at a time are cheaper than one by one.
    private var forgottenForOne: Int { max(1, min(1000, configuration.repeatsMax / 100)) }

    /// Forgets the oldest requests of the owner with the most.
    private func makeRoom(atMost most: Int) throws(SQLiteError) -> Int {
        guard let (owner, numbers) = index.displaced(atMost: most) else {
            return try forgetOldest(atMost: most)
        }
        try database.write()
        for number in numbers {
            if let digest = try database.repeats.remove(number) {
                index.remove(digest, number: number)
            } else {
                index.removeLost(owner, number: number)
            }
        }
        return numbers.count
    }

    /// Forgets requests that are too old or too many, a bounded number at a time.
    func forget() throws(SQLiteError) {
        let excess = min(Self.forgottenAtOnce, index.count - max(0, configuration.repeatsMax))
        if excess > 0 { forgottenEarly += try makeRoom(atMost: excess) }
        guard ages.knowsTime else { return }
        let time = now()
        try forgetOldest(atMost: Self.forgottenAtOnce) { begin in
            begin + configuration.repeatsAgeMax <= time
        }
    }

    private static let forgottenAtOnce = 10_000

    /// Forgets the oldest requests while `isDue` is true for the beginning of their age.
    @discardableResult
    private func forgetOldest(
        atMost most: Int,
        while isDue: (WallTime) -> Bool = { _ in true }
    ) throws(SQLiteError) -> Int {
        var gone: [(number: Int64, digest: [UInt8])] = []
        try database.repeats.oldest(atMost: most) { row in
            let number = row.integer(0)
            let received = WallTime(nanoseconds: max(0, row.integer(2)))
            guard isDue(ages.begin(received, number: number)) else { return false }
            gone.append((number, row.bytes(1)))
            return true
        }
        guard let last = gone.last else { return 0 }
        try database.write()
        try database.repeats.remove(through: last.number)
        for (number, digest) in gone { index.remove(digest, number: number) }
        return gone.count
    }

    /// Reads the requests at a start: 50 ms for 200,000.
    func recover() throws(SQLiteError) {
        try database.repeats.oldest(atMost: .max) { row in
            index.add(row.bytes(1), number: row.integer(0))
            return true
        }
    }

    var count: Int { index.count }

    func takeForgottenEarly() -> Int {
        defer { forgottenEarly = 0 }
        return forgottenEarly
    }
}

/// Finds the remembered request with a given digest.
///
/// On disk the requests are in the order of their arrival: remembering appends at one end,
/// forgetting cuts off the other. In the order of digests each would dirty its own pages: with
/// 200,000 requests and 30 more per commit that wrote 18 KB of log per request instead of 0.6, and
/// took 89 µs instead of 14.
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

    /// Requests that make room for others; nil: the oldest of all leave.
    func displaced(atMost most: Int) -> (owner: RepeatOwner, numbers: ArraySlice<Int64>)? {
        owners.displaced(atMost: most)
    }

    mutating func removeLost(_ owner: RepeatOwner, number: Int64) {
        count -= 1
        owners.remove(owner, number: number)
    }

    private static func place(of digest: [UInt8]) -> UInt64 {
        digest.dropFirst(RepeatOwner.bytes).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

/// The owner of remembered requests: a device key and a destination.
///
/// A start must know the owners, or one key could displace requests that other devices have to
/// repeat. So the first bytes of the stored digest name the owner: three for the key, two for the
/// destination. The other eleven identify the request.
struct RepeatOwner: Hashable {
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

/// The numbers of remembered requests by owner, oldest first. The key with the most of them makes
/// room, and of its destinations the one with the most. So a key that sends many requests displaces
/// its own, and a key with less than an equal part loses nothing.
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
    private var bySender: [UInt32: Int] = [:]

    mutating func add(_ owner: RepeatOwner, number: Int64) {
        lines[owner, default: Line()].append(number)
        bySender[owner.sender, default: 0] += 1
    }

    mutating func remove(_ owner: RepeatOwner, number: Int64) {
        guard let count = lines[owner]?.count else { return }
        lines[owner]?.remove(number)
        if lines[owner]?.count == 0 { lines[owner] = nil }
        let removed = count - (lines[owner]?.count ?? 0)
        let left = bySender[owner.sender, default: 0] - removed
        bySender[owner.sender] = left > 0 ? left : nil
    }

    /// With more owners each has next to nothing, and the oldest of all leave.
    static let ownersMax = 4096

    /// The oldest requests of the owner with the most, at most an eighth of them, so that it keeps
    /// its latest ones. Nil if all have the same owner.
    func displaced(atMost most: Int) -> (owner: RepeatOwner, numbers: ArraySlice<Int64>)? {
        guard lines.count > 1, lines.count <= Self.ownersMax,
            let sender = bySender.max(by: { $0.value < $1.value })?.key
        else { return nil }
        return lines.filter { $0.key.sender == sender }
            .max { $0.value.count < $1.value.count }
            .map { owner, line in (owner, line.oldest(min(most, max(1, line.count / 8)))) }
    }
}
