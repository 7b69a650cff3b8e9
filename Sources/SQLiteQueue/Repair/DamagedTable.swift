import SQLite

/// Reads the readable part of a table whose pages are partly damaged.
///
/// It reads as SQLite does, from leaf to leaf. If that fails, it reads the rest of the leaf
/// separately and then everything behind it. If SQLite skips a leaf, it asks for that leaf by its
/// keys. So a lost page costs only its own content, and a page with another page's content hides
/// nothing.
struct DamagedTable {
    private let scan: Statement
    private let leafScan: Statement
    private let firstKey: Statement
    private let root: Int
    private let file: DamagedFile
    /// True if something could not be read.
    private(set) var hasGaps = false

    /// Prepares to read `columns`. The integer `key` must be the first of them.
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
        // The index may be damaged at other places than the table, so the query uses only the
        // table.
        let rows = "FROM \(table) NOT INDEXED WHERE \(key) BETWEEN ?1 AND ?2 ORDER BY \(key)"
        scan = try connection.prepare("SELECT \(columns) \(rows)")
        leafScan = try connection.prepare("SELECT \(columns) \(rows)")
        firstKey = try connection.prepare("SELECT \(key) \(rows) LIMIT 1")
    }

    /// Continues an earlier read behind `last`, at the beginning of the leaf that it was in.
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

    /// Visits each readable row once, in the order of the keys. Throws if `visit` throws, and on a
    /// read error that the file does not skip. The search begins at key `start`. Unless the first
    /// key is known, `start` is below any border that a damaged page may show.
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
        /// No row came from this key on.
        case failure(Int64)
        /// The scan skipped leaves. The caller must ask for the first of them by its keys.
        case elsewhere
    }

    /// Reads until SQLite fails or leaves the right order.
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
            // After any failure the rest of the leaf is read again, and that result counts.
            guard let isRow = try? scan.step() else { return .failure(next) }
            guard isRow else { return .end }
            let key = scan.integer(0)
            // The row is before the requested keys.
            if key >= start, key < keys.lowerBound, next == keys.lowerBound { continue }
            // A damaged tree may lead to the same page twice.
            guard key >= next, key <= keys.upperBound else { return .failure(next) }
            // A row among other rows' keys may be an old copy that was removed at its right place.
            // If a search by keys finds nothing there, the border is wrong and not the row.
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

    /// Returns true if there were leaves from which no row had come.
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

    /// Reads a leaf by its keys alone. The overflow pages of one row may be lost, and a damaged key
    /// may hide the rows behind it.
    private mutating func readLeaf(
        _ leaf: ClosedRange<Int64>,
        _ visit: (Statement) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        hasGaps = true
        var rest = leaf
        while let failure = try scan(rest, visit) {
            let key = try first(in: failure.key...rest.upperBound)
            // The leaf is read again from there.
            if let key, key > rest.lowerBound {
                rest = key...rest.upperBound
                continue
            }
            if let error = failure.error { try file.skip(error) }
            guard let key, key < rest.upperBound else { return }
            rest = key + 1...rest.upperBound
        }
    }

    /// The place and the cause of a failed scan. The cause is nil if the keys are out of order.
    private struct Failure {
        let key: Int64
        let error: SQLiteError?
    }

    /// Returns nil if the range was read to its end.
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

    /// Reads only the keys. Nil if even that fails.
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
