/// The keys of a table as the leaves of its tree share them, in their order: who cannot read one knows where the next begins,
/// however many numbers lie between. Behind an inner page that cannot be read nobody knows, and all its keys are one range.
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
