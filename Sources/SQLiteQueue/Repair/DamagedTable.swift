import SQLite

/// A damaged database's pages as SQLite reads them, and the rule for unreadable content. It must
/// exist as long as the connection.
///
/// Damage stays, so content that it hit is lost. A read error may pass: it ends the reading, and
/// the caller tries again later. Only the last attempt skips content that is still unreadable, so a
/// bad sector costs no more than its content.
final class DamagedFile {
    let pages: StoredPages
    /// True if all attempts are used up. Content that is still unreadable is then lost.
    var skipsUnreadable: Bool
    /// True if it skipped content that a later attempt may be able to read.
    private(set) var hasSkipped = false
    /// The read error that ended the reading.
    private(set) var readError: SQLiteError?

    init(_ database: String, skippingUnreadable skips: Bool = true) {
        pages = StoredPages(of: database, .asRead)
        skipsUnreadable = skips
    }

    /// Returns if the caller must go on without what `error` hides. Throws an error that may pass.
    func skip(_ error: SQLiteError) throws(SQLiteError) {
        if error.isDamage { return }
        if error.isUnreadable, skipsUnreadable {
            hasSkipped = true
            return
        }
        readError = error
        throw error
    }

    /// Reads at most twice. Nil if the content is lost.
    func readable<Value>(
        _ read: () throws(SQLiteError) -> Value
    ) throws(SQLiteError) -> Value? {
        do throws(SQLiteError) {
            return try read()
        } catch {
            if error.isUnreadable, let value = try? read() { return value }
            try skip(error)
            return nil
        }
    }
}

/// Reads the readable part of a table whose pages are partly damaged.
///
/// It reads as SQLite does, from leaf to leaf. If that fails, it reads the rest of the leaf
/// separately and then everything behind it. It asks for a leaf that SQLite skips by its keys. So a
/// lost page costs only its own content, and a page with another's content hides nothing.
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
        // The index may be damaged at other places, so the query uses only the table.
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

    /// Visits each readable row once, in the order of the keys. Also throws a read error that the
    /// file does not skip. Unless the first key is known, `start` is below any border that a
    /// damaged page may show.
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
            // If a search finds nothing there, the border is wrong and not the row.
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

    /// Reads a leaf by its keys. A row's overflow pages may be lost, and a damaged key may hide
    /// rows.
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

/// The key ranges of the leaves of a table's tree, in order: they tell where the next leaf begins
/// after one that cannot be read. The leaves behind an unreadable inner page form one range.
///
/// Whatever the pages contain, each key is in exactly one range.
struct LeafRanges: Sequence, IteratorProtocol {
    private let file: DamagedFile
    private var rest: [(page: Int, keys: ClosedRange<Int64>, depth: Int)]

    init(of root: Int, _ keys: ClosedRange<Int64>, in file: DamagedFile) {
        self.file = file
        rest = [(root, keys, 0)]
    }

    mutating func next() -> ClosedRange<Int64>? {
        while let (page, keys, depth) = rest.popLast() {
            // No tree is deeper, unless its pages form a circle.
            guard depth < 20, file.pages.firstByte(page) == BTree.tableInner,
                let bytes = file.pages.page(page),
                let children = BTree.children(bytes, sharing: keys)
            else { return keys }
            for child in children.reversed() { rest.append((child.page, child.keys, depth + 1)) }
        }
        return nil
    }
}

/// The leaf that a reader has reached.
struct LeafCursor {
    private var ranges: LeafRanges
    private(set) var current: ClosedRange<Int64>
    private var isOnly = true
    /// True if the reader has read something of the leaf, or all that is readable.
    var isRead = false

    init(_ ranges: LeafRanges, _ keys: ClosedRange<Int64>) {
        self.ranges = ranges
        current = self.ranges.next() ?? keys
    }

    /// The next leaf before the leaf of `key` from which nothing was read; a sound tree has none.
    mutating func missed(before key: Int64) -> ClosedRange<Int64>? {
        while key > current.upperBound, let next = ranges.next() {
            let (last, wasRead) = (current, isRead)
            (current, isRead, isOnly) = (next, false, false)
            if !wasRead { return last }
        }
        return nil
    }

    /// No leaf is empty, unless it is the only one.
    var lastMissed: ClosedRange<Int64>? { isRead || isOnly ? nil : current }
}
