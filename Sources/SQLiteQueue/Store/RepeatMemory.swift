import Queue
import SQLite
import System

/// Recognises requests that a device repeats.
///
/// A device sends a request again if it did not see its answer. The transaction that stores a
/// request's logs also stores its identity. A request with a known identity stores nothing.
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

    /// Remembers a request whose batches the current transaction has taken.
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

    /// Takes over a request that another shard remembers.
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

    /// Forgets the oldest requests while `isDue` returns true for the beginning of their age.
    /// Returns their number.
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

    /// Returns the number of requests that were forgotten before their age since the last call.
    func takeForgottenEarly() -> Int {
        defer { forgottenEarly = 0 }
        return forgottenEarly
    }
}
