import SQLite

extension FirstPage {
    /// One with which a damaged database can be read.
    struct Mended {
        let bytes: [UInt8]
        /// The one that was found is none of ours.
        let isNew: Bool

        fileprivate init(_ bytes: [UInt8], isNew: Bool) {
            self.isNew = isNew
            var bytes = bytes
            // There is a log. How many pages there are, and which are free, is not asked of an old page, nor of a new one.
            for place in 18..<20 { bytes[place] = 2 }
            for place in [24..<40, 92..<100].joined() { bytes[place] = 0 }
            self.bytes = bytes
        }
    }

    /// Nil where none fits to the other pages.
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

    /// What SQLite would believe, or take for the work of another version.
    static func problem(_ stored: borrowing StoredPages) -> SQLiteError? {
        guard newerVersion(stored) == nil, let found = stored.page(1) else { return nil }
        let own = FirstPage(version: QueueSchema.migrations.count, pageBytes: stored.pageBytes)
        if let own, own.hasTables(of: found), own.hasHead(of: found) { return nil }
        var isAlike = false
        for page in all(stored.pageBytes) where page.hasTables(of: found) {
            if page.hasHead(of: found) { return nil }
            isAlike = true
        }
        return isAlike ? .damage("the head of the file is damaged") : nil
    }

    /// A later version may have the same tables, so a start has to refuse what says that it is of one. There will not be
    /// as many as most flipped bits would make of it.
    static func newerVersion(_ stored: borrowing StoredPages) -> Int? {
        guard let found = stored.page(1) else { return nil }
        let version = BigEndianWords(Array(found[60..<64]))[0]
        let isOurs = BigEndianWords(Array(found[68..<72]))[0] == UInt32(QueueSchema.applicationID)
        return isOurs && version > QueueSchema.migrations.count && version < 128
            ? Int(version) : nil
    }

    /// Of all versions, and of their copies as they were brought to later ones. The likeliest come first, and none is made
    /// before it is asked for.
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
