/// Reads what can still be read of a table whose pages are partly damaged.
///
/// It goes leaf by leaf: a page that is lost costs what it held, and one with another page's content adds nothing to it.
struct DamagedTable {
    private let scan: Statement
    private let firstKey: Statement
    private let root: Int
    private let file: DamagedFile
    /// Something could not be read.
    private(set) var hasGaps = false

    /// Prepares to read `columns`, of which the integer `key` must be the first.
    init(
        _ connection: Connection,
        in file: DamagedFile,
        _ columns: String,
        of table: String,
        key: String
    ) throws(SQLiteError) {
        self.file = file
        root = Int(
            try connection.integer(
                "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = '\(table)'"
            )
        )
        // The index may be damaged in other places than the table; the table alone is asked.
        let rows = "FROM \(table) NOT INDEXED WHERE \(key) BETWEEN ?1 AND ?2 ORDER BY \(key)"
        scan = try connection.prepare("SELECT \(columns) \(rows)")
        firstKey = try connection.prepare("SELECT \(key) \(rows) LIMIT 1")
    }

    /// Visits the readable rows in the order of their keys. Fails only when `visit` does.
    mutating func read(
        _ keys: ClosedRange<Int64>,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        for leaf in LeafRanges(of: root, keys, in: file) {
            var rest = leaf
            while let failed = try scan(rest, visit) {
                hasGaps = true
                // What lies on pages of its own may be lost for one row alone.
                guard let lost = first(in: failed...rest.upperBound), lost < rest.upperBound else {
                    break
                }
                rest = lost + 1...rest.upperBound
            }
        }
    }

    /// Returns the first key that could not be passed, nil when the range was read to its end.
    private func scan(
        _ range: ClosedRange<Int64>,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Int64? {
        bind(scan, range)
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
            do throws(SQLiteError) {
                try visit(scan)
            } catch {
                scan.reset()
                throw error
            }
            guard key < range.upperBound else {
                scan.reset()
                return nil
            }
            next = key + 1
        }
    }

    /// Of the keys alone, nil where not even they can be read.
    private func first(in range: ClosedRange<Int64>) -> Int64? {
        bind(firstKey, range)
        defer { firstKey.reset() }
        guard (try? firstKey.step()) == true else { return nil }
        let key = firstKey.integer(0)
        return range.contains(key) ? key : nil
    }

    private func bind(_ statement: Statement, _ range: ClosedRange<Int64>) {
        statement.bind(1, range.lowerBound)
        statement.bind(2, range.upperBound)
    }
}
