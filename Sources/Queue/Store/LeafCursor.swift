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
