import SQLite

/// The first page of a database, without which nothing else can be read.
///
/// All queues of a version have the same one: the same statements made their tables in the same
/// order, and with auto_vacuum the roots of tables lie at the front in that order. In a copy
/// (`VACUUM INTO`) indexes lie behind all tables. So a lost page can be made again. The pages that
/// it points to must then match it.
struct FirstPage {
    let bytes: [UInt8]
    /// The first bytes of the pages from the third on: 13 where a table begins, 10 where an index
    /// does.
    private let roots: [UInt8]
    private let streamColumns: Int

    /// Nil if the content does not fit into one page.
    init?(version: Int, copiedAt: Int? = nil, pageBytes: Int) {
        guard
            let (content, columns) = try? Self.database(version, copiedAt, pageBytes),
            content.count >= pageBytes, content[100] == BTree.tableLeaf
        else { return nil }
        bytes = Array(content[..<pageBytes])
        roots = stride(from: 2 * pageBytes, to: content.count, by: pageBytes).map { content[$0] }
        streamColumns = columns
    }

    private static func database(
        _ version: Int,
        _ copiedAt: Int?,
        _ pageBytes: Int
    ) throws(SQLiteError) -> ([UInt8], Int) {
        let connection = try Connection(":memory:", .readWrite)
        try Pragmas.create(on: connection, pageBytes: pageBytes)
        if let copiedAt {
            try QueueSchema.migrate(connection, from: 0, Array(QueueSchema.migrations[..<copiedAt]))
            try connection.execute("VACUUM")
        }
        let steps = Array(QueueSchema.migrations[..<version])
        try QueueSchema.migrate(connection, from: copiedAt ?? 0, steps)
        let columns = try connection.prepare("SELECT * FROM streams").columns
        return (try connection.content(), Int(columns))
    }
}

// MARK: - Another that was found

extension FirstPage {
    /// True if the found page has the same tables at the same places.
    func hasTables(of found: [UInt8]) -> Bool {
        guard found.count == bytes.count, let cells = BTree.cells(found, at: 100) else {
            return false
        }
        return cells == BTree.cells(bytes, at: 100)
    }

    /// True if the heads are equal except for the counters of pages and changes.
    func hasHead(of found: [UInt8]) -> Bool {
        // A copy has no log before its first start.
        let isReadable = found[18] == found[19] && (1...2).contains(found[18])
        return isReadable && [0..<18, 20..<24, 44..<92].allSatisfy { found[$0] == bytes[$0] }
    }

    /// True if the pages that this one points to exist or are lost, and none has other content.
    func fits(_ stored: borrowing StoredPages) -> Bool {
        // The second page gives the kind of each other page; 1 stands for a root.
        let map = stored.page(2).flatMap { $0[0] == 1 ? $0 : nil }
        var found = 0
        for (index, root) in roots.enumerated() {
            guard let page = stored.page(3 + index), let isTable = BTree.isOfTable(page) else {
                continue
            }
            guard isTable == (root == BTree.tableLeaf), map?[5 * index] ?? 1 == 1 else {
                return false
            }
            found += 1
        }
        // Random content does not match four times.
        guard found >= 4 else { return false }
        return BTree.columns(of: 3, in: stored).map { $0 == streamColumns } ?? true
    }
}

extension FirstPage {
    /// A first page with which SQLite can read a damaged database.
    struct Mended {
        let bytes: [UInt8]
        /// True if the page that was found is not a first page of the queue.
        let isNew: Bool

        fileprivate init(_ bytes: [UInt8], isNew: Bool) {
            self.isNew = isNew
            var bytes = bytes
            // These bytes tell SQLite that there is a log. It asks no such page for the number of
            // pages.
            for place in 18..<20 { bytes[place] = 2 }
            for place in [24..<40, 92..<100].joined() { bytes[place] = 0 }
            self.bytes = bytes
        }
    }

    /// Nil if no first page fits the other pages.
    static func mended(_ stored: borrowing StoredPages) -> Mended? {
        let all = all(stored.pageBytes)
        if let found = stored.page(1),
            all.contains(where: { $0.hasTables(of: found) && $0.hasHead(of: found) })
        {
            return Mended(found, isNew: false)
        }
        for page in all where page.fits(stored) { return Mended(page.bytes, isNew: true) }
        return nil
    }

    /// Damage that SQLite would accept, or take for the work of another version.
    static func problem(_ stored: borrowing StoredPages) -> SQLiteError? {
        guard newerVersion(stored) == nil, let found = stored.page(1) else { return nil }
        var isAlike = false
        for page in all(stored.pageBytes) where page.hasTables(of: found) {
            if page.hasHead(of: found) { return nil }
            isAlike = true
        }
        return isAlike ? .damage("the head of the file is damaged") : nil
    }

    /// A later version may have the same tables, so a start refuses its page. Only versions below
    /// 128 count, because most flipped bits would give a larger number.
    static func newerVersion(_ stored: borrowing StoredPages) -> Int? {
        guard let found = stored.page(1) else { return nil }
        let version = BigEndianWords(Array(found[60..<64]))[0]
        let isOurs = BigEndianWords(Array(found[68..<72]))[0] == UInt32(QueueSchema.applicationID)
        return isOurs && version > QueueSchema.migrations.count && version < 128
            ? Int(version) : nil
    }

    /// The first pages of all versions and of migrated copies, likeliest first, made lazily.
    private static func all(_ pageBytes: Int) -> some Sequence<FirstPage> {
        let versions = (1...QueueSchema.migrations.count).reversed()
        let kinds: [(version: Int, copiedAt: Int?)] =
            versions.map { ($0, nil) }
            + versions.flatMap { version in
                (1...version).reversed().map { (version, $0) }
            }
        return kinds.lazy.compactMap {
            FirstPage(version: $0.version, copiedAt: $0.copiedAt, pageBytes: pageBytes)
        }
    }
}
