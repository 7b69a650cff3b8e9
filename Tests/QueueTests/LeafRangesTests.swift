import Queue
import SQLite
import TestSupport
import Testing

@testable import SQLiteQueue

/// The way through a table that has inner pages.
@Suite struct LeafRangesTests {
    private static let pageBytes = 8192
    private static let rows = 2000

    private let directory = TemporaryDirectory()
    private let path: String
    private let root: Int

    /// One row to a leaf, and some inner pages.
    init() throws {
        path = directory.path + "/table.db"
        let connection = try DamagedRows.make(
            path,
            count: Self.rows,
            key: "1000 * i",
            payload: "zeroblob(8000)"
        )
        root = Int(try connection.integer("SELECT rootpage FROM sqlite_schema"))
    }

    @Test("The ranges of leaves cover all keys without overlap")
    func whole() {
        let ranges = Array(LeafRanges(of: root, -7...Int64.max, in: DamagedFile(path)))
        #expect(ranges.count == Self.rows)
        #expect(ranges.first?.lowerBound == -7 && ranges.last?.upperBound == .max)
        #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound + 1 == $1.lowerBound })
        #expect(ranges.enumerated().allSatisfy { $1.contains(Int64(1000 * ($0 + 1))) })
        let some = Array(LeafRanges(of: root, 4500...9500, in: DamagedFile(path)))
        #expect(some.first?.lowerBound == 4500 && some.last?.upperBound == 9500)
        #expect(some.count == 6)
    }

    @Test("What lies behind a lost inner page is lost, and all else is there")
    func innerPage() throws {
        let whole = readFile(path)
        let noise = [UInt8](repeating: 0x55, count: Self.pageBytes)
        let circle = Array(whole[(root - 1) * Self.pageBytes..<root * Self.pageBytes])
        let pages = try innerPages()
        #expect(pages.count > 1)
        for (page, children) in pages {
            for content in [noise, circle] {
                var bytes = whole
                let start = (page - 1) * Self.pageBytes
                bytes.replaceSubrange(start..<start + Self.pageBytes, with: content)
                writeFile(path, bytes)
                #expect(try readable() == Self.rows - children, "page \(page)")
            }
        }
    }

    /// Those below the root, with how many leaves each has.
    private func innerPages() throws -> [(page: Int, children: Int)] {
        let connection = try Connection(path, .readOnly)
        let all = try connection.prepare(
            """
            SELECT pageno, ncell FROM dbstat
            WHERE name = 'rows' AND pagetype = 'internal' AND path != '/' ORDER BY path
            """
        )
        var pages: [(Int, Int)] = []
        while try all.step() { pages.append((Int(all.integer(0)), Int(all.integer(1)) + 1)) }
        return pages
    }

    private func readable() throws -> Int {
        let (keys, _) = try DamagedRows(path).readable()
        #expect(Set(keys).count == keys.count)
        return keys.count
    }

    @Test(
        "A flipped bit in an inner page costs two leaves of those that can be read in order, and of other pages nothing"
    )
    func flippedBits() throws {
        let whole = readFile(path)
        let (page, children) = try #require(innerPages().first { $0.children > 500 })
        let start = (page - 1) * Self.pageBytes
        func number(_ place: Int) -> Int {
            Int(whole[start + place]) << 8 | Int(whole[start + place + 1])
        }
        let middle = 12 + 2 * (number(3) / 2)
        let cell = number(middle)
        // How many cells there are, where one is, where it leads to, and its border.
        for place in [3, 4, middle, middle + 1] + Array(cell..<cell + 7) {
            for bit in 0..<8 {
                var bytes = whole
                bytes[start + place] ^= 1 << bit
                writeFile(path, bytes)
                let (keys, hasGaps) = try DamagedRows(path).readable()
                let comment = Comment("bit \(bit) at \(place) of \(middle), \(cell)")
                #expect(Set(keys).count == keys.count, comment)
                let inOrder = try DamagedRows(path).inOrder()
                // What lies beyond a border that is wrong lies where others belong.
                #expect(keys.count >= min(inOrder.count, Self.rows - 2), comment)
                #expect(keys.count >= Self.rows - children, comment)
                // Where it says that there are fewer nobody misses the others.
                #expect(keys.count == Self.rows || hasGaps || place < 12, comment)
                #expect(keys.count >= Self.rows - 2 || place < cell + 4, comment)
            }
        }
    }
}

/// Damage in a leaf, or in what one of its rows has on other pages.
@Suite struct DamagedLeafTests {
    private static let pageBytes = 8192
    private let directory = TemporaryDirectory()
    private let path: String

    init() throws {
        path = directory.path + "/table.db"
        _ = try DamagedRows.make(
            path,
            count: 200,
            key: "i",
            payload: "zeroblob(iif(i = 100, 30000, 300))"
        )
    }

    private func pages(_ kind: String) throws -> [(page: Int, rows: Int)] {
        let connection = try Connection(path, .readOnly)
        let all = try connection.prepare(
            "SELECT pageno, ncell FROM dbstat WHERE name = 'rows' AND pagetype = '\(kind)' ORDER BY path"
        )
        var pages: [(Int, Int)] = []
        while try all.step() { pages.append((Int(all.integer(0)), Int(all.integer(1)))) }
        return pages
    }

    @Test("A row whose overflow is lost is lost alone")
    func overflow() throws {
        let overflow = try pages("overflow")
        #expect(overflow.count == 3)
        var bytes = readFile(path)
        // It leads to nowhere.
        let start = (overflow[0].page - 1) * Self.pageBytes
        for index in start..<start + 4 { bytes[index] = 0xFF }
        writeFile(path, bytes)
        let (keys, hasGaps) = try DamagedRows(path).readable()
        #expect(hasGaps && keys == (1...200).filter { $0 != 100 })
    }

    @Test("A flipped bit in a row's number costs no other row that could be read in order")
    func flippedKeys() throws {
        let whole = readFile(path)
        let leaf = try #require(pages("leaf").dropFirst().first)
        let start = (leaf.page - 1) * Self.pageBytes
        for row in 0..<leaf.rows {
            let pointer = start + 8 + 2 * row
            let cell = start + Int(whole[pointer]) << 8 + Int(whole[pointer + 1])
            // Behind the size, which takes two bytes here.
            for (place, bit) in [
                (2, 0), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5), (2, 6), (3, 0), (3, 3),
            ] {
                var bytes = whole
                bytes[cell + place] ^= 1 << bit
                writeFile(path, bytes)
                let (keys, _) = try DamagedRows(path).readable()
                let inOrder = try DamagedRows(path).inOrder()
                let comment = Comment("row \(row), byte \(place), bit \(bit)")
                #expect(Set(keys).count == keys.count, comment)
                #expect(keys.count >= inOrder.count, comment)
                // It may look like one of the next leaf.
                #expect(keys.count >= 200 - 2 * leaf.rows, comment)
            }
        }
    }
}

/// What can be read of a table `rows`.
struct DamagedRows {
    private let file: DamagedFile
    private let connection: Connection

    /// One that is whole, of values of `i` from 1 on.
    static func make(
        _ path: String,
        count: Int,
        key: String,
        payload: String
    ) throws -> Connection {
        let connection = try Connection(path, .readWrite)
        try connection.execute(
            """
            PRAGMA page_size = \(QueueTuning().pageBytes);
            CREATE TABLE rows (id INTEGER PRIMARY KEY, payload BLOB);
            WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO rows SELECT \(key), \(payload) FROM n
            """
        )
        return connection
    }

    init(_ path: String) throws {
        file = DamagedFile(path)
        connection = try Connection(path, .readOnly)
        try connection.tolerateDamage()
    }

    func readable() throws -> (keys: [Int64], hasGaps: Bool) {
        var table = try DamagedTable(connection, in: file, "id, payload", of: "rows", key: "id")
        var keys: [Int64] = []
        try table.read(0...Int64.max) { keys.append($0.integer(0)) }
        return (keys, table.hasGaps)
    }

    /// As far as it goes from the first on.
    func inOrder() throws -> [Int64] {
        let all = try connection.prepare("SELECT id, payload FROM rows NOT INDEXED ORDER BY id")
        var keys: [Int64] = []
        while let isRow = try? all.step(), isRow, all.integer(0) > keys.last ?? -1 {
            keys.append(all.integer(0))
        }
        return keys
    }
}
