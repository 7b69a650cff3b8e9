import Queue
import SQLite

/// The table of ledgers.
final class LedgerTable {
    private let transaction: WriteTransaction
    private let saveOne: Statement
    private let everyOne: Statement

    init(
        _ connection: Connection,
        _ transaction: WriteTransaction
    ) throws(SQLiteError) {
        self.transaction = transaction
        saveOne = try connection.prepare(
            "INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        everyOne = try connection.prepare("SELECT * FROM ledger")
    }

    func all() throws(SQLiteError) -> [String: Ledger] {
        defer { everyOne.reset() }
        var ledgers: [String: Ledger] = [:]
        while try everyOne.step() {
            let ledger = Ledger(everyOne)
            guard ledger.isPlausible else { throw .damage("a ledger cannot be \(ledger)") }
            ledgers[everyOne.text(0)] = ledger
        }
        return ledgers
    }

    func save(_ ledger: Ledger, of destination: String) throws(SQLiteError) {
        transaction.require()
        saveOne.bind(1, destination)
        saveOne.bind(2, ledger.accepted)
        saveOne.bind(3, ledger.delivered)
        saveOne.bind(4, ledger.queued)
        saveOne.bind(5, ledger.dead)
        saveOne.bind(6, ledger.expired)
        saveOne.bind(7, ledger.discarded)
        saveOne.bind(8, ledger.skipped)
        try saveOne.run()
    }
}
