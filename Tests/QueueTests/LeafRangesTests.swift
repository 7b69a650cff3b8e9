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
