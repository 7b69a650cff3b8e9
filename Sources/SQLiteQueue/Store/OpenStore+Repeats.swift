import Queue
import SQLite
import System

// Devices send a request again when they did not see its answer. Requests with an identity are remembered in the
// transaction that stores their logs, and one that is known stores nothing.
extension OpenStore {
    /// The request of this identity that was stored, also when that was in the transaction at hand.
    func first(of identity: BatchIdentity) throws(SQLiteError) -> BatchIdentity? {
        guard let number = repeats.number(of: identity.digest) else { return nil }
        // What a log holds that may not have reached the disk must not be vouched for.
        guard isLogCertain else { return nil }
        let first = try database.repeats.record(number)?.identity
        let isSame =
            first?.digest.dropFirst(RepeatOwner.bytes)
            == identity.digest.dropFirst(RepeatOwner.bytes)
        return isSame ? first : nil
    }

    /// Remembers a request whose batches were taken into the transaction at hand.
    func remember(_ identity: BatchIdentity, of owner: RepeatOwner) throws(SQLiteError) {
        let most = configuration.repeatsMax
        guard most > 0 else { return }
        if repeats.count >= most {
            // Many at a time are cheaper than one by one; housekeeping does it where the bound was lowered.
            forgottenEarly += try makeRoomForRepeats(atMost: max(1, min(1000, most / 100)))
        }
        try database.write()
        let record = RepeatRecord(
            number: try ids.take(database),
            identity: BatchIdentity(
                digest: owner.marking(identity.digest),
                receipt: identity.receipt,
                logs: identity.logs
            ),
            received: now()
        )
        try database.repeats.add(record)
        repeats.add(record.identity.digest, number: record.number)
    }

    /// Forgets the oldest of the owner that has most.
    private func makeRoomForRepeats(atMost most: Int) throws(SQLiteError) -> Int {
        guard let (owner, numbers) = repeats.displaced(atMost: most) else {
            return try forgetRepeats(atMost: most)
        }
        try database.write()
        for number in numbers {
            if let digest = try database.repeats.remove(number) {
                repeats.remove(digest, number: number)
            } else {
                repeats.removeLost(owner, number: number)
            }
        }
        return numbers.count
    }

    /// Forgets requests that are too old, and those that are too many, a bounded number at a time.
    func forgetRepeats() throws(SQLiteError) {
        let excess = min(Self.forgottenAtOnce, repeats.count - max(0, configuration.repeatsMax))
        if excess > 0 { forgottenEarly += try makeRoomForRepeats(atMost: excess) }
        guard knowsTime else { return }
        let time = now()
        try forgetRepeats(atMost: Self.forgottenAtOnce) { begin in
            begin + configuration.repeatsAgeMax <= time
        }
    }

    private static let forgottenAtOnce = 10_000

    /// Forgets the oldest requests for as long as `isDue` says so of when their age began. Returns how many.
    @discardableResult
    private func forgetRepeats(
        atMost most: Int,
        while isDue: (WallTime) -> Bool = { _ in true }
    ) throws(SQLiteError) -> Int {
        var gone: [(number: Int64, digest: [UInt8])] = []
        try database.repeats.oldest(atMost: most) { row in
            let number = row.integer(0)
            let received = WallTime(nanoseconds: max(0, row.integer(2)))
            guard isDue(begin(received, number: number)) else { return false }
            gone.append((number, row.bytes(1)))
            return true
        }
        guard let last = gone.last else { return 0 }
        try database.write()
        try database.repeats.remove(through: last.number)
        for (number, digest) in gone { repeats.remove(digest, number: number) }
        return gone.count
    }

    /// Reads what there is at a start: 50 ms for 200,000.
    func recoverRepeats() throws(SQLiteError) {
        try database.repeats.oldest(atMost: .max) { row in
            repeats.add(row.bytes(1), number: row.integer(0))
            return true
        }
    }
}
