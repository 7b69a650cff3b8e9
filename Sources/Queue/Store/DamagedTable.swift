/// Reads what can still be read of a table whose pages are partly damaged.
///
/// Where a scan fails it goes on behind the failure: the rest is halved until the readable part is found.
struct DamagedTable {
    private let scan: Statement
    /// A damaged inner page may hide very many keys; at some point the rest is given up.
    private var failuresLeft = 20_000
    /// Something could not be read.
    private(set) var hasGaps = false

    /// Prepares to read `columns`, of which the integer `key` must be the first.
    init(
        _ connection: Connection,
        _ columns: String,
        of table: String,
        key: String
    ) throws(SQLiteError) {
        // The index may be damaged in other places than the table; the table alone is asked.
        scan = try connection.prepare(
            """
            SELECT \(columns) FROM \(table) NOT INDEXED
            WHERE \(key) BETWEEN ?1 AND ?2 ORDER BY \(key)
            """
        )
    }

    /// Visits the readable rows in the order of their keys. Fails only when `visit` does.
    mutating func read(
        _ keys: ClosedRange<Int64>,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        var rest = [keys]
        while failuresLeft > 0, let range = rest.popLast() {
            guard let failed = try scan(range, visit) else { continue }
            failuresLeft -= 1
            hasGaps = true
            guard failed < range.upperBound else { continue }
            if failed > range.lowerBound {
                rest.append(failed...range.upperBound)
            } else {
                let middle = failed + (range.upperBound - failed) / 2
                rest.append(middle + 1...range.upperBound)
                rest.append(failed...middle)
            }
        }
    }

    /// Returns the first key that could not be passed, nil when the range was read to its end.
    private func scan(
        _ range: ClosedRange<Int64>,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Int64? {
        scan.bind(1, range.lowerBound)
        scan.bind(2, range.upperBound)
        var next = range.lowerBound
        while true {
            do throws(SQLiteError) {
                guard try scan.step() else { return nil }
            } catch {
                return next
            }
            let key = scan.integer(0)
            // A damaged tree may lead to the same page twice.
            guard key >= next, key <= range.upperBound else {
                scan.reset()
                return next
            }
            next = key == .max ? key : key + 1
            do throws(SQLiteError) {
                try visit(scan)
            } catch {
                scan.reset()
                throw error
            }
        }
    }
}
