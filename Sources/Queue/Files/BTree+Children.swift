extension BTree {
    /// Where an inner page of a table leads to, each with its share of `keys`. A border that cannot be read or stands out of
    /// the order counts for nothing: its keys go to the next. Nil where it is no such page.
    static func children(
        _ page: [UInt8],
        sharing keys: ClosedRange<Int64>
    ) -> [(page: Int, keys: ClosedRange<Int64>)]? {
        guard page[0] == tableInner else { return nil }
        // More would not fit, whatever it says.
        let count = min(number(page, 3), (page.count - 12) / 2)
        var children: [(page: Int, keys: ClosedRange<Int64>)] = []
        var first = keys.lowerBound
        for (page, last) in ascending((0..<count).compactMap { border(page, $0) }) {
            guard first <= last else { continue }
            children.append((page, first...min(last, keys.upperBound)))
            guard last < keys.upperBound else { return children }
            first = last + 1
        }
        children.append((longNumber(page, 8), first...keys.upperBound))
        return children
    }

    /// A child and the last key that it may have.
    private static func border(_ page: [UInt8], _ index: Int) -> (page: Int, last: Int64)? {
        let cell = number(page, 12 + 2 * index)
        var place = cell + 4
        guard let last = varint(page, &place) else { return nil }
        return (longNumber(page, cell), Int64(last))
    }

    /// As many as can be that follow each other: a flipped bit makes one too large or too small for its place.
    private static func ascending(
        _ borders: [(page: Int, last: Int64)]
    ) -> [(page: Int, last: Int64)] {
        // Of the rows that were found, by their length: where the one that ends lowest ends, and which comes before each.
        var ends: [Int] = []
        var before = [Int](repeating: -1, count: borders.count)
        for index in borders.indices {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if borders[ends[middle]].last < borders[index].last {
                    low = middle + 1
                } else {
                    high = middle
                }
            }
            if low > 0 { before[index] = ends[low - 1] }
            if low < ends.count { ends[low] = index } else { ends.append(index) }
        }
        var row: [(page: Int, last: Int64)] = []
        var index = ends.last ?? -1
        while index >= 0 {
            row.append(borders[index])
            index = before[index]
        }
        return row.reversed()
    }
}
