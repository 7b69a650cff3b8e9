/// The key ranges of the leaves of a table's tree, in order. A reader that cannot read one leaf
/// thereby knows where the next one begins, however many numbers lie between. The leaves behind an
/// unreadable inner page are unknown, so its keys form one range.
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

    /// The next leaf before the leaf of `key` from which nothing was read. Nil at the leaf of
    /// `key`. A sound tree has no such leaf.
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
