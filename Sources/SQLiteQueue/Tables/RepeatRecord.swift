import Queue
import SQLite
import System

/// A remembered request as it is stored.
struct RepeatRecord {
    let number: Int64
    let identity: BatchIdentity
    let received: WallTime
}

extension RepeatRecord {
    static let digestBytes = 16

    /// Takes the columns number, digest, received, logs, receipt. Throws if the row does not look
    /// like a request of ours. Its repetition then counts as a new request, and no damaged receipt
    /// gets into an answer.
    init(_ row: Statement) throws(SQLiteError) {
        number = try row.integer(0, in: Plausible.ids)
        identity = BatchIdentity(
            digest: row.bytes(1),
            receipt: row.bytes(4),
            logs: Int(try row.integer(3, in: Plausible.counts))
        )
        received = WallTime(nanoseconds: max(0, row.integer(2)))
        let isText = identity.receipt.allSatisfy { (0x21...0x7E).contains($0) }
        guard identity.digest.count == Self.digestBytes, isText else {
            throw .damage("request \(number) is not as it was remembered")
        }
    }
}

extension BatchIdentity {
    /// The cost on disk, with the row's numbers and the ends of pages.
    var cost: Int { digest.count + receipt.count + 64 }
}
