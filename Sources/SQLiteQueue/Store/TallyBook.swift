import Queue
import SQLite

/// What became of the logs of all requests, as the tally of the current transaction leaves it.
final class TallyBook: StorePart {
    let context: StoreContext
    private(set) var sums = IntakeTally()
    private var isStale = false

    init(_ context: StoreContext) {
        self.context = context
    }

    func add(_ tally: IntakeTally) throws(SQLiteError) {
        guard tally != IntakeTally() else { return }
        try database.write()
        sums += tally
        isStale = true
    }

    /// Makes the sums agree with the ledgers. Returns both numbers of copies if they did not.
    func recover(_ ledgers: Ledger) throws(SQLiteError) -> (counted: Int, found: Int)? {
        let stored = try database.intake.sums()
        sums = stored ?? IntakeTally()
        sums.settle(with: ledgers)
        isStale = sums != stored
        return isStale ? (stored?.copies ?? 0, sums.copies) : nil
    }

    func save() throws(SQLiteError) {
        guard isStale else { return }
        try database.intake.save(sums)
        isStale = false
    }
}
