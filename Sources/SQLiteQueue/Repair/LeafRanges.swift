/// The keys of a table as the leaves of its tree share them, in their order: who cannot read one knows where the next begins,
/// however many numbers lie between. Behind an inner page that cannot be read this is unknown, and all its keys are one range.
///
/// Whatever the pages say, the ranges hold each key once.
struct LeafRanges: Sequence, IteratorProtocol {
    private let file: DamagedFile
    private var rest: [(page: Int, keys: ClosedRange<Int64>, depth: Int)]

    init(of root: Int, _ keys: ClosedRange<Int64>, in file: DamagedFile) {
        self.file = file
        rest = [(root, keys, 0)]
    }

    mutating func next() -> ClosedRange<Int64>? {
        while let (page, keys, depth) = rest.popLast() {
            // A tree is no deeper, except in a circle.
            guard depth < 20, file.pages.firstByte(page) == BTree.tableInner,
                let bytes = file.pages.page(page),
                let children = BTree.children(bytes, sharing: keys)
            else { return keys }
            for child in children.reversed() { rest.append((child.page, child.keys, depth + 1)) }
        }
        return nil
    }
}

/// The leaf that a reader has come to.
struct LeafCursor {
    private var ranges: LeafRanges
    private(set) var current: ClosedRange<Int64>
    private var isOnly = true
    /// Something was read of it, or all that can be.
    var isRead = false

    init(_ ranges: LeafRanges, _ keys: ClosedRange<Int64>) {
        self.ranges = ranges
        current = self.ranges.next() ?? keys
    }

    /// The next leaf of which nothing was read, before that of `key`; nil once it has come to that one. In a sound tree there
    /// is none.
    mutating func missed(before key: Int64) -> ClosedRange<Int64>? {
        while key > current.upperBound, let next = ranges.next() {
            let (last, wasRead) = (current, isRead)
            (current, isRead, isOnly) = (next, false, false)
            if !wasRead { return last }
        }
        return nil
    }

    /// No leaf is empty, but for one that is all there is.
    var lastMissed: ClosedRange<Int64>? { isRead || isOnly ? nil : current }
}
