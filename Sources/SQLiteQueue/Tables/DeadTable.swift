import Logs
import Queue
import SQLite
import System

/// The table of dead letters: one prepared statement for each operation, no decisions.
final class DeadTable {
    let queries: DeadQueries
    private let transaction: WriteTransaction
    private let addOne: Statement
    private let replaceOne: Statement
    private let removeOne: Statement
    private let byReason: Statement
    private let byAge: Statement

    init(
        _ connection: Connection,
        _ transaction: WriteTransaction
    ) throws(SQLiteError) {
        self.transaction = transaction
        queries = try DeadQueries(connection)
        let values = """
            (\(DeadRecord.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        addOne = try connection.prepare("INSERT INTO dead \(values)")
        replaceOne = try connection.prepare("REPLACE INTO dead \(values)")
        removeOne = try connection.prepare("DELETE FROM dead WHERE id = ?")
        byReason = try connection.prepare(
            """
            SELECT destination, code, count(*), sum(cost), max(died), min(cost), min(id), max(id)
            FROM dead INDEXED BY dead_by_reason GROUP BY destination, code
            """
        )
        byAge = try connection.prepare(
            """
            SELECT \(DeadRecord.columns) FROM dead INDEXED BY dead_by_age
            WHERE died BETWEEN ?1 AND ?2 AND (id > ?3 OR died <= ?4) ORDER BY died
            """
        )
    }

    func add(_ record: DeadRecord) throws(SQLiteError) {
        try write(record, with: addOne)
    }

    /// Replaces the letter with the same id.
    func replace(with record: DeadRecord) throws(SQLiteError) {
        try write(record, with: replaceOne)
    }

    private func write(_ record: DeadRecord, with statement: Statement) throws(SQLiteError) {
        transaction.require()
        statement.bind(1, record.id)
        statement.bind(2, record.stream.destination)
        statement.bind(3, record.stream.logstore)
        statement.bind(4, record.stream.trailer.bytes)
        statement.bind(5, record.received.nanoseconds)
        statement.bind(6, record.died.nanoseconds)
        statement.bind(7, Int64(record.reason.status ?? 0))
        statement.bind(8, record.reason.code)
        statement.bind(9, record.reason.message)
        statement.bind(10, record.reason.requestID ?? "")
        statement.bind(11, Int64(record.raw))
        statement.bind(12, Int64(record.cost))
        statement.bind(13, record.checksum)
        statement.bind(15, Int64(record.replays))
        try statement.run(14, record.payload)
    }

    /// Returns false if the letter was not there.
    func remove(_ id: Int64) throws(SQLiteError) -> Bool {
        transaction.require()
        removeOne.bind(1, id)
        return try removeOne.run() == 1
    }

    /// The sums by destination and code. Reads only an index, never a letter.
    func sums() throws(SQLiteError) -> [DeadLetterSum] {
        defer { byReason.reset() }
        var sums: [DeadLetterSum] = []
        while try byReason.step() {
            let name = byReason.text(0)
            let cost = Int(try byReason.integer(3, in: Plausible.counts))
            // A sum may hide a negative number.
            guard byReason.integer(5) > 0 else {
                throw .damage("dead letters of \(name) have negative sizes")
            }
            _ = try byReason.integer(6, in: Plausible.ids)
            _ = try byReason.integer(7, in: Plausible.ids)
            sums.append(
                DeadLetterSum(
                    destination: name,
                    code: byReason.text(1),
                    letters: Int(byReason.integer(2)),
                    bytes: cost,
                    latest: WallTime(nanoseconds: byReason.integer(4))
                )
            )
        }
        return sums
    }

    /// The letters that died within `died`, oldest first. Of letters up to the id `inherited`, only
    /// those that also died before `inheritedUntil`.
    func letters(
        diedIn died: ClosedRange<WallTime>,
        inherited: Int64,
        inheritedUntil: WallTime,
        _ visit: (StoredLetter) -> Bool
    ) throws(SQLiteError) {
        byAge.bind(1, died.lowerBound.nanoseconds)
        byAge.bind(2, died.upperBound.nanoseconds)
        byAge.bind(3, inherited)
        byAge.bind(4, inheritedUntil.nanoseconds)
        while try byAge.step() {
            guard visit(StoredLetter(byAge)) else { return byAge.reset() }
        }
    }
}
