import Glibc

/// The pages of a database from its log or file, for repairs that cannot rely on SQLite.
struct StoredPages: ~Copyable {
    let database: CInt
    let log: CInt
    let scan: WALScan?
    let pageBytes: Int
    let bytes: Int
    /// The place in the log of the last version of each page.
    private let places: [Int: Int]

    enum Version {
        case stored
        /// The pages that SQLite reads: up to the last transaction before the first damaged frame.
        case asRead
    }

    init(_ directory: DataDirectory) { self.init(of: directory.database, .stored) }

    /// Must outlive each connection to the same file in this process: closing any descriptor of a
    /// file releases all locks of the process on it.
    init(of database: String, _ version: Version) {
        self.database = open(database, O_RDONLY | O_CLOEXEC)
        log = open(database + "-wal", O_RDONLY | O_CLOEXEC)
        let scan = log < 0 ? nil : WALScan(log)
        self.scan = scan
        pageBytes = scan?.head.pageBytes ?? QueueTuning().pageBytes
        bytes = fileSize(database) ?? 0
        let read = scan.map { $0.isHeadRebuilt ? 0 : $0.provenEnd } ?? 0
        let end = version == .asRead ? read : Int.max
        let logged = (scan?.sound ?? []).lazy.filter { $0.offset < end }
        places = Dictionary(logged.map { (Int($0.page), $0.offset) }) { $1 }
    }

    deinit {
        for number in [database, log] where number >= 0 { close(number) }
    }

    /// The number of pages after the last transaction.
    var count: Int {
        scan?.sound.last.map { Int($0.commit) } ?? (bytes + pageBytes - 1) / pageBytes
    }

    /// SQLite takes a file of one byte for an empty one, and removes the log of an empty one.
    var isLogAlone: Bool { bytes <= 1 && scan?.sound.isEmpty == false }

    func page(_ number: Int) -> [UInt8]? { read(number, pageBytes) }

    /// The first byte gives the kind of most pages.
    func firstByte(_ number: Int) -> UInt8? { read(number, 1)?[0] }

    private func read(_ number: Int, _ count: Int) -> [UInt8]? {
        // SQLite's page numbers have 32 bits.
        guard 1...Int(UInt32.max) ~= number else { return nil }
        guard let frame = places[number] else {
            return WALScan.read(database, count, at: (number - 1) * pageBytes)
        }
        return WALScan.read(log, count, at: frame + WALScan.frameHeadBytes)
    }
}

/// The part of SQLite's page format that repairs need.
enum BTree {
    static let tableLeaf: UInt8 = 13
    static let tableInner: UInt8 = 5

    /// True for a page of a table, false for one of an index, nil for any other.
    static func isOfTable(_ page: [UInt8]) -> Bool? {
        switch page[0] {
        case tableLeaf, tableInner: true
        case 10, 2: false
        default: nil
        }
    }

    /// The cells of a table's leaf, in order. Nil if the page cannot be such a leaf.
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

    /// The number of columns in the first record of a table. Nil if the table has no readable
    /// record.
    static func columns(of root: Int, in stored: borrowing StoredPages) -> Int? {
        var place = root
        // No tree is deeper, unless its pages form a circle.
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

    /// Returns only the end of a number that is longer: a longer one cannot be a length.
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

    /// The children of an inner page, each with its share of `keys`. A border that is unreadable or
    /// out of order is ignored, and its keys go to the next child. Nil if it is no such page.
    static func children(
        _ page: [UInt8],
        sharing keys: ClosedRange<Int64>
    ) -> [(page: Int, keys: ClosedRange<Int64>)]? {
        guard page[0] == tableInner else { return nil }
        // A page has no room for more, whatever its count says.
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

    /// A child and the greatest key that it may have.
    private static func border(_ page: [UInt8], _ index: Int) -> (page: Int, last: Int64)? {
        let cell = number(page, 12 + 2 * index)
        var place = cell + 4
        guard let last = varint(page, &place) else { return nil }
        return (longNumber(page, cell), Int64(last))
    }

    /// The longest ascending sequence: a flipped bit makes a border too large or too small.
    private static func ascending(
        _ borders: [(page: Int, last: Int64)]
    ) -> [(page: Int, last: Int64)] {
        // `ends` has, for each length of an ascending sequence, the index of the lowest last
        // border; `before` has the predecessor of each border.
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
