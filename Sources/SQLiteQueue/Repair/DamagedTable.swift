import SQLite

/// Reads what can still be read of a table whose pages are partly damaged.
///
/// It goes on as SQLite does, from leaf to leaf. Where that fails the rest of the leaf is read by itself, and then what lies
/// behind it; where it leads past a leaf, that is asked for by its keys. A page that is lost so costs what it held, and one with
/// another page's content hides nothing.
struct DamagedTable {
    private let scan: Statement
    private let leafScan: Statement
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
        let sql = "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = '\(table)'"
        root = Int(try connection.integer(sql))
        // The index may be damaged in other places than the table; the table alone is asked.
        let rows = "FROM \(table) NOT INDEXED WHERE \(key) BETWEEN ?1 AND ?2 ORDER BY \(key)"
        scan = try connection.prepare("SELECT \(columns) \(rows)")
        leafScan = try connection.prepare("SELECT \(columns) \(rows)")
        firstKey = try connection.prepare("SELECT \(key) \(rows) LIMIT 1")
    }

    /// Goes on where an earlier reader left off: behind `last`, at the beginning of the leaf that it was in.
    mutating func read(
        behind last: Int64,
        upTo highest: Int64,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        guard last > 0 else { return try read(0...highest, visit) }
        guard last < highest else { return }
        let leaf = LeafRanges(of: root, 0...highest, in: file).first { $0.contains(last + 1) }
        let first = leaf?.lowerBound ?? last + 1
        try read(first...highest, from: first) { row throws(SQLiteError) in
            if row.integer(0) > last { try visit(row) }
        }
    }

    /// Visits the readable rows in the order of their keys, each once. Fails when `visit` does, and on a read error that
    /// the file does not skip. `start` is the key that is searched first, below any border that a damaged page may show
    /// unless it is known where the keys begin.
    mutating func read(
        _ keys: ClosedRange<Int64>,
        from start: Int64 = .min,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        var leaves = LeafCursor(LeafRanges(of: root, keys, in: file), keys)
        var rest = keys
        var start = start
        while true {
            let next: Int64
            switch try read(rest, from: start, &leaves, visit) {
            case .end:
                try readMissed(&leaves, before: keys.upperBound, visit)
                if let last = leaves.lastMissed { try readLeaf(last, visit) }
                return
            case .failure(let failed):
                try readMissed(&leaves, before: failed, visit)
                try readLeaf(failed...leaves.current.upperBound, visit)
                leaves.isRead = true
                guard leaves.current.upperBound < keys.upperBound else { return }
                next = leaves.current.upperBound + 1
            case .elsewhere:
                next = leaves.current.lowerBound
            }
            rest = next...keys.upperBound
            start = next
        }
    }

    private enum Halt {
        case end
        /// From this key on nothing came.
        case failure(Int64)
        /// It has come to a leaf past others, and is to begin with that one by its keys.
        case elsewhere
    }

    /// Reads on until SQLite cannot, or has gone astray.
    private mutating func read(
        _ keys: ClosedRange<Int64>,
        from start: Int64,
        _ leaves: inout LeafCursor,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Halt {
        bind(scan, start...keys.upperBound)
        defer { scan.reset() }
        var next = keys.lowerBound
        while true {
            // Whatever failed, the rest of the leaf is read again, and that decides.
            guard let isRow = try? scan.step() else { return .failure(next) }
            guard isRow else { return .end }
            let key = scan.integer(0)
            // Not asked for.
            if key >= start, key < keys.lowerBound, next == keys.lowerBound { continue }
            // A damaged tree may lead to the same page twice.
            guard key >= next, key <= keys.upperBound else { return .failure(next) }
            // A row that lies where others belong may have been taken out where it belongs itself. Where nothing is found by
            // keys a border is wrong, and not the row.
            if try readMissed(&leaves, before: key, visit),
                try first(in: key...leaves.current.upperBound) != nil
            {
                return .elsewhere
            }
            leaves.isRead = true
            try visit(scan)
            guard key < keys.upperBound else { return .end }
            next = key + 1
        }
    }

    /// Returns whether there were leaves that no row had come from.
    @discardableResult
    private mutating func readMissed(
        _ leaves: inout LeafCursor,
        before key: Int64,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool {
        var isAny = false
        while let missed = leaves.missed(before: key) {
            isAny = true
            try readLeaf(missed, visit)
        }
        return isAny
    }

    /// By its keys alone. What lies on pages of its own may be lost for one row, and a key that is damaged may stand in the
    /// way of those behind it.
    private mutating func readLeaf(
        _ leaf: ClosedRange<Int64>,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        hasGaps = true
        var rest = leaf
        while let failure = try scan(rest, visit) {
            let key = try first(in: failure.key...rest.upperBound)
            // It is read again from there.
            if let key, key > rest.lowerBound {
                rest = key...rest.upperBound
                continue
            }
            if let error = failure.error { try file.skip(error) }
            guard let key, key < rest.upperBound else { return }
            rest = key + 1...rest.upperBound
        }
    }

    /// Where a scan could not go on, and why: nil when the keys are out of order.
    private struct Failure {
        let key: Int64
        let error: SQLiteError?
    }

    /// Returns nil when the range was read to its end.
    private func scan(
        _ range: ClosedRange<Int64>,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Failure? {
        bind(leafScan, range)
        defer { leafScan.reset() }
        var next = range.lowerBound
        while true {
            let isRow: Bool
            do throws(SQLiteError) {
                isRow = try leafScan.step()
            } catch {
                return Failure(key: next, error: error)
            }
            guard isRow else { return nil }
            let key = leafScan.integer(0)
            guard key >= next, key <= range.upperBound else {
                return Failure(key: next, error: nil)
            }
            try visit(leafScan)
            guard key < range.upperBound else { return nil }
            next = key + 1
        }
    }

    /// Reads the keys alone; nil where not even they can be read.
    private func first(in range: ClosedRange<Int64>) throws(SQLiteError) -> Int64? {
        bind(firstKey, range)
        defer { firstKey.reset() }
        let isFound = try file.readable { () throws(SQLiteError) in try firstKey.step() }
        guard isFound == true else { return nil }
        let key = firstKey.integer(0)
        return range.contains(key) ? key : nil
    }

    private func bind(_ statement: Statement, _ range: ClosedRange<Int64>) {
        statement.bind(1, range.lowerBound)
        statement.bind(2, range.upperBound)
    }
}
