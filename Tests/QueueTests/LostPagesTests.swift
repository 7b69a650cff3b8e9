import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// A page of payloads that is lost costs what it held, and nothing of its neighbours.
@Suite(.timeLimit(.minutes(10))) struct LostPagesTests {
    private static let pageBytes = 8192

    let directory = TemporaryDirectory()

    private struct Leaf {
        let page: Int
        let rows: Int
    }

    /// Three lives of 120 rows with ten logs each. Each begins a million numbers further on, so
    /// that some pages hold rows whose numbers lie far apart.
    private func fill() throws -> [Leaf] {
        for life in 0..<3 {
            let store = try DurableQueue(.small(directory.path), journal: .silent)
            defer { store.close() }
            for row in 0..<120 {
                let first = (life * 120 + row) * 10
                #expect(store.store(Batch(logs(first..<first + 10, filling: 40))) == .stored)
            }
        }
        let connection = try Connection(directory.path + "/queue.db", .readOnly)
        let all = try connection.prepare(
            "SELECT pageno, ncell FROM dbstat WHERE name = 'rows' AND pagetype = 'leaf' ORDER BY path"
        )
        var leaves: [Leaf] = []
        while try all.step() {
            leaves.append(Leaf(page: Int(all.integer(0)), rows: Int(all.integer(1))))
        }
        return leaves
    }

    /// Reads all that is there, once a damage was found.
    private func expect(
        _ lost: Int,
        after change: (inout [UInt8]) -> Void,
        _ comment: Comment
    ) throws {
        let copy = directory.copy()
        let path = copy.path + "/queue.db"
        var bytes = readFile(path)
        change(&bytes)
        writeFile(path, bytes)
        let store = try copy.queue()
        defer { store.close() }
        let new = Batch(stream: .named("new"), logs: logs(5000..<5003))
        #expect(store.store(new) == .stored, comment)
        // A damaged last page is found by the new logs themselves, all others when they are read.
        if store.status.salvages == 0 {
            store.flush("app")
            let packets = Consumer(store).packets(2)
            #expect(throws: QueueError.self, comment) {
                for packet in packets { _ = try store.blocks(of: packet) }
            }
            store.wait { $0.salvages == 1 && $0.admission == .open }
        }
        let ledger = store.status.ledger
        #expect(ledger.isClosed && ledger.accepted == 3603, comment)
        #expect(ledger.discarded == lost, comment)
        #expect(ledger.queued == 3603 - lost, comment)
    }

    private func overwrite(_ leaf: Leaf, with bytes: some Collection<UInt8>, in file: inout [UInt8])
    {
        let start = (leaf.page - 1) * Self.pageBytes
        file.replaceSubrange(start..<start + Self.pageBytes, with: bytes)
    }

    @Test("The loss of any one page loses only its own rows, also if numbers were skipped")
    func noise() throws {
        let leaves = try fill()
        #expect(leaves.count > 8 && leaves.map(\.rows).reduce(0, +) == 360)
        for leaf in leaves {
            try expect(
                leaf.rows * 10,
                after: { file in
                    overwrite(leaf, with: repeatElement(0x55, count: Self.pageBytes), in: &file)
                },
                "page \(leaf.page)"
            )
        }
    }

    @Test("The loss of every second page loses only the rows on them")
    func many() throws {
        let lost = try fill().enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
        try expect(
            lost.map(\.rows).reduce(0, +) * 10,
            after: { file in
                for leaf in lost {
                    overwrite(leaf, with: repeatElement(0x55, count: Self.pageBytes), in: &file)
                }
            },
            "\(lost)"
        )
    }

    @Test("A page with the content of another page loses only its own rows")
    func misplaced() throws {
        let leaves = try fill()
        for (one, other) in [(leaves[1], leaves.last!), (leaves.last!, leaves[1])] {
            try expect(
                one.rows * 10,
                after: { file in
                    let start = (other.page - 1) * Self.pageBytes
                    overwrite(one, with: Array(file[start..<start + Self.pageBytes]), in: &file)
                },
                "\(one) as \(other)"
            )
        }
    }

    @Test("Rows of another page that were delivered meanwhile do not come again")
    func staleCopy() throws {
        let leaves = try fill()
        let (one, other) = (leaves[1], leaves[5])
        let path = directory.path + "/queue.db"
        var bytes = readFile(path)
        let start = (other.page - 1) * Self.pageBytes
        overwrite(one, with: Array(bytes[start..<start + Self.pageBytes]), in: &bytes)
        writeFile(path, bytes)
        let connection = try Connection(path, .readWrite)
        let ids = try connection.prepare(
            "SELECT id FROM rows INDEXED BY rows_by_stream ORDER BY id"
        )
        var all: [Int64] = []
        while try ids.step() { all.append(ids.integer(0)) }
        // What lies on the other page, which is then taken out by its keys.
        let before = leaves[..<5].map(\.rows).reduce(0, +)
        let taken = all[before..<before + other.rows]
        try connection.execute(
            """
            DELETE FROM rows INDEXED BY rows_by_stream
            WHERE stream = (SELECT id FROM streams) AND id BETWEEN \(taken.first!) AND \(taken.last!)
            """
        )
        try connection.finish()
        let file = DamagedFile(path)
        let damaged = try Connection(path, .readOnly)
        try damaged.tolerateDamage()
        var table = try DamagedTable(damaged, in: file, "id, payload", of: "rows", key: "id")
        var found: [Int64] = []
        try table.read(0...Int64.max) { found.append($0.integer(0)) }
        let lost = all[leaves[0].rows..<leaves[0].rows + one.rows]
        #expect(found == all.filter { !taken.contains($0) && !lost.contains($0) })
    }
}

/// What SQLite must know of a file before it reads anything of it.
@Suite(.timeLimit(.minutes(10))) struct FirstPageTests {
    let directory = TemporaryDirectory()
    private let pageBytes = 8192

    private var database: String { directory.path + "/queue.db" }

    private func fill() throws {
        let store = try directory.queue()
        defer { store.close() }
        for row in 0..<100 {
            let logs = logs(row * 3..<row * 3 + 3, filling: 500)
            #expect(store.store(Batch(stream: .named("s\(row % 3)"), logs: logs)) == .stored)
        }
    }

    /// Opens it; returns the ledger once it is whole again.
    private func ledger(
        _ directory: TemporaryDirectory,
        _ comment: Comment = "",
        salvages: Int = 1
    ) throws -> Ledger {
        let store = try directory.queue()
        defer { store.close() }
        #expect(store.status.salvages == salvages, comment)
        #expect(store.status.ledger.isClosed, comment)
        return store.status.ledger
    }

    private func overwrite(_ directory: TemporaryDirectory, _ change: (inout [UInt8]) -> Void) {
        let path = directory.path + "/queue.db"
        var bytes = readFile(path)
        change(&bytes)
        writeFile(path, bytes)
    }

    @Test("A first page that is gone costs nothing", arguments: [0, 0x55], [512, 4096, 8192])
    func gone(byte: UInt8, count: Int) throws {
        try fill()
        let stored = try storedLogs(in: directory)
        overwrite(directory) {
            $0.replaceSubrange(..<count, with: [UInt8](repeating: byte, count: count))
        }
        let found = try ledger(directory)
        #expect(found.accepted == 300 && found.queued == 300)
        #expect(try storedLogs(in: directory) == stored)
    }

    @Test("The loss of the first two pages costs nothing")
    func secondToo() throws {
        try fill()
        overwrite(directory) {
            $0.replaceSubrange(..<16384, with: [UInt8](repeating: 0, count: 16384))
        }
        let found = try ledger(directory)
        #expect(found.accepted == 300 && found.queued == 300)
    }

    @Test("A flipped bit on the first page costs nothing, wherever it is")
    func flippedBits() throws {
        try fill()
        // Of what the head says, of the places of the tables, and of what makes them.
        let head = [0, 16, 18, 20, 21, 28, 35, 52, 55, 56, 59, 63, 66, 70]
        for place in head + [100, 104, 105, 108, 109, 7500, 8100, 8191] {
            let copy = directory.copy()
            overwrite(copy) { $0[place] ^= 1 << (place % 8) }
            let store = try copy.queue()
            let found = store.status.ledger
            #expect(found.isClosed && found.accepted == 300 && found.queued == 300, "byte \(place)")
        }
    }

    @Test("A lost first page costs no logs that are in the WAL", arguments: [100, 8192])
    func withLog(count: Int) throws {
        let copy = try directory.fillLog()
        overwrite(copy) { $0.replaceSubrange(..<count, with: [UInt8](repeating: 0, count: count)) }
        let store = try copy.queue()
        #expect(store.status.ledger.queued == 300 && store.status.ledger.isClosed)
    }

    @Test("So is that of a copy, before and after its first start", arguments: [false, true])
    func copied(isStarted: Bool) throws {
        try fill()
        let copy = TemporaryDirectory()
        do {
            let connection = try Connection(database, .readWrite)
            try connection.execute("VACUUM INTO '\(copy.path)/queue.db'")
        }
        if isStarted { _ = try ledger(copy, salvages: 0) }
        let stored = try storedLogs(in: copy)
        overwrite(copy) { $0.replaceSubrange(..<8192, with: [UInt8](repeating: 0, count: 8192)) }
        #expect(try ledger(copy).queued == 300)
        #expect(try storedLogs(in: copy) == stored)
    }

    @Test("A file with foreign pages gets no first page")
    func foreign() throws {
        var generator = SeededGenerator(seed: 11)
        writeFile(database, (0..<200_000).map { _ in UInt8.random(in: 0...255, using: &generator) })
        #expect(try ledger(directory).accepted == 0)
    }
}
