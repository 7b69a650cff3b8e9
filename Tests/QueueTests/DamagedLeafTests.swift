import Queue
import SQLite
import TestSupport
import Testing

@testable import SQLiteQueue

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
