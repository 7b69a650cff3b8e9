import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// What a salvage leaves that was killed.
@Suite(.timeLimit(.minutes(1))) struct SalvageLeftoverTests {
    let directory = TemporaryDirectory()

    private var data: DataDirectory { DataDirectory(path: directory.path) }
    private var database: String { directory.path + "/queue.db" }

    private var names: [String] { directory.names.filter { $0.hasPrefix("queue.corrupt-") } }
    private var copies: [String] { names.filter { $0.hasSuffix(".db") } }

    /// A queue of 300 logs, closed in good order.
    private func fill() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        for row in 0..<30 {
            let batch = Batch(stream: .named("a"), logs: logs(row * 10..<row * 10 + 10))
            #expect(store.store(batch) == .stored)
        }
    }

    private func damageLedger() throws {
        let connection = try Connection(database, .readWrite)
        try connection.execute("UPDATE ledger SET delivered = -1")
        try connection.finish()
    }

    @Test("A start removes what a killed salvage left, and its own copy is the only one")
    func killedBeforeTheEnd() throws {
        try fill()
        try damageLedger()
        for second in 0..<5 {
            _ = try data.linkAside(WallTime(seconds: 1_767_323_045 + Int64(second)))
        }
        for name in ["queue.salvage.db-wal", "queue.salvage.db-shm"] {
            writeFile("\(directory.path)/\(name)", [1, 2, 3])
        }
        #expect(copies.count == 5 && names.count == 10)
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        #expect(store.status.salvages == 1 && store.status.ledger.queued == 300)
        #expect(copies.count == 1 && store.status.damagedCopies == 1)
        #expect(!names.contains { $0.hasSuffix("-unsaved") })
        #expect(!directory.names.contains { $0.hasPrefix("queue.salvage") })
    }

    @Test("The same of a damaged log, and of one that is alone", arguments: [false, true])
    func killedWithLog(isAlone: Bool) throws {
        let copy = try directory.fillLog()
        let log = copy.path + "/queue.db-wal"
        var bytes = readFile(log)
        bytes[32 + 5 * 8216 + 500] ^= 1
        writeFile(log, bytes)
        if isAlone { writeFile(copy.path + "/queue.db", []) }
        let aside = try DataDirectory(path: copy.path).linkAside(WallTime(seconds: 1_767_323_045))
        #expect(copy.names.contains { $0.hasSuffix(".log") })
        let store = try DurableQueue(.small(copy.path), journal: .silent)
        defer { store.close() }
        #expect(store.status.salvages == 1)
        #expect(!copy.names.contains { "\(copy.path)/\($0)".hasPrefix(aside.dropLast(3)) })
        #expect(copy.names.count { $0.hasPrefix("queue.corrupt-") && $0.hasSuffix(".db") } == 1)
    }

    @Test("A mark whose files a kill has left without names goes")
    func markAlone() throws {
        try fill()
        writeFile(directory.path + "/queue.corrupt-20260102030405.db-unsaved", [])
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        #expect(names.isEmpty && store.status.ledger.queued == 300)
    }

    @Test(
        "A copy that is another file than the database or its log stays",
        arguments: ["queue.corrupt-20260102030405.db", "queue.corrupt-20260102030405.db-wal"]
    )
    func otherFiles(name: String) throws {
        try fill()
        let aside = try data.linkAside(WallTime(seconds: 1_767_323_045))
        let path = "\(directory.path)/\(name)"
        unlink(path)
        writeFile(path, [1, 2, 3])
        let before = names
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        #expect(names == before && readFile(path) == [1, 2, 3])
        #expect(copies.contains { "\(directory.path)/\($0)" == aside })
    }

    @Test("A copy that a restored backup made of a second name goes")
    func copiedFiles() throws {
        try fill()
        let aside = try data.linkAside(WallTime(seconds: 1_767_323_045))
        for path in [aside, aside + "-wal"] where access(path, F_OK) == 0 {
            let bytes = readFile(path)
            unlink(path)
            writeFile(path, bytes)
        }
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        #expect(copies.isEmpty && store.status.ledger.queued == 300)
    }

    /// A name that leads to itself: each look at it fails, and not because nothing is there.
    private func makeUnanswered(_ name: String) {
        let path = "\(directory.path)/\(name)"
        unlink(path)
        #expect(symlink(path, path) == 0)
    }

    @Test(
        "A copy of which the disk says nothing stays",
        arguments: [".db", ".db-wal", ".log"]
    )
    func unansweredCopy(end: String) throws {
        try fill()
        let aside = try data.linkAside(WallTime(seconds: 1_767_323_045))
        makeUnanswered("queue.corrupt-20260102030405\(end)")
        let before = names
        try data.settleSalvage()
        #expect(names == before && before.contains { aside.hasSuffix("/\($0)") })
    }

    @Test("A copy of whose mark the disk says nothing is not deleted")
    func unansweredMark() throws {
        writeFile(directory.path + "/queue.corrupt-20260102030405.db", [1])
        makeUnanswered("queue.corrupt-20260102030405.db-unsaved")
        #expect(data.removeDamagedCopies(keeping: 0, atMost: 1, inUse: []).isEmpty)
    }

    @Test("A database of which the disk says nothing is not replaced by half a copy")
    func unansweredDatabase() throws {
        makeUnanswered("queue.db")
        writeFile(directory.path + "/queue.salvage.db", [1, 2, 3])
        #expect(throws: QueueError.self) { try data.settleSalvage() }
        #expect(Set(directory.names).isSuperset(of: ["queue.db", "queue.salvage.db"]))
    }

    @Test("While only the new database is there, the copy is no leftover")
    func killedAtTheEnd() throws {
        try fill()
        _ = try data.linkAside(WallTime(seconds: 1_767_323_045))
        let before = names
        writeFile(directory.path + "/queue.salvage.db", readFile(database))
        unlink(database)
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        #expect(names == before && store.status.ledger.queued == 300)
    }

    @Test("The bound on copies holds after a kill between a salvage and their removal")
    func boundAtStart() throws {
        try fill()
        for second in 0..<5 {
            let aside = "\(directory.path)/queue.corrupt-2026010203040\(second).db"
            writeFile(aside, [1, 2, 3])
        }
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        #expect(copies.count == DataDirectory.damagedCopiesMax)
        #expect(store.status.damagedCopies == DataDirectory.damagedCopiesMax)
    }
}
