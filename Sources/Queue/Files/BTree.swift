/// As much of the format of SQLite's pages as it takes to compare first pages, and to find the way around lost ones.
enum BTree {
    static let tableLeaf: UInt8 = 13
    static let tableInner: UInt8 = 5

    /// Whether it belongs to a table, false for one of an index, nil when it belongs to neither.
    static func isOfTable(_ page: [UInt8]) -> Bool? {
        switch page[0] {
        case tableLeaf, tableInner: true
        case 10, 2: false
        default: nil
        }
    }

    /// What lies in a leaf of a table, in its order. Nil where it cannot be.
    static func cells(_ page: [UInt8], at head: Int) -> [ArraySlice<UInt8>]? {
        guard page[head] == tableLeaf else { return nil }
        let count = number(page, head + 3)
        guard head + 8 + 2 * count <= page.count else { return nil }
        var cells: [ArraySlice<UInt8>] = []
        for index in 0..<count {
            var end = number(page, head + 8 + 2 * index)
            let start = end
            guard let bytes = varint(page, &end), varint(page, &end) != nil,
                bytes <= page.count - end
            else { return nil }
            cells.append(page[start..<end + bytes])
        }
        return cells
    }

    /// Of the first record of a table. Nil where there is none, or none that can be read.
    static func columns(of root: Int, in stored: borrowing StoredPages) -> Int? {
        var place = root
        // A tree is no deeper, except in a circle.
        for _ in 0..<20 {
            guard let page = stored.page(place) else { return nil }
            let first = number(page, 8)
            switch page[0] {
            case tableInner:
                let child = number(page, 12)
                guard child + 4 <= page.count else { return nil }
                place = longNumber(page, child)
                guard place > 0 else { return nil }
            case tableLeaf where number(page, 3) > 0:
                return columns(page, first)
            default:
                return nil
            }
        }
        return nil
    }

    private static func columns(_ page: [UInt8], _ cell: Int) -> Int? {
        var place = cell
        guard varint(page, &place) != nil, varint(page, &place) != nil else { return nil }
        let head = place
        guard let bytes = varint(page, &place), head + bytes <= page.count else { return nil }
        var count = 0
        while place < head + bytes, varint(page, &place) != nil { count += 1 }
        return count
    }

    static func number(_ page: [UInt8], _ place: Int) -> Int {
        Int(page[place]) << 8 | Int(page[place + 1])
    }

    static func longNumber(_ page: [UInt8], _ place: Int) -> Int {
        number(page, place) << 16 | number(page, place + 2)
    }

    /// Of a longer one, which is no length, only the end.
    static func varint(_ page: [UInt8], _ place: inout Int) -> Int? {
        var value = 0
        for _ in 0..<9 {
            guard place < page.count else { return nil }
            let byte = page[place]
            place += 1
            value = (value & 0xffff_ffff_ffff) << 7 | Int(byte & 0x7f)
            if byte < 0x80 { return value }
        }
        return value
    }
}
