import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// A table whose first page is gone costs what it held, is said, and takes no log with it.
@Suite(.timeLimit(.minutes(1))) struct LostTablesTests {
    let directory = TemporaryDirectory()
    private let lines = Awaited<[UInt8]>()

    private func open() throws -> DurableQueue {
        let journal = Journal(level: .warning, format: .json) { [lines] in lines.put($0) }
        return try DurableQueue(.small(directory.path), journal: journal)
    }

    private func said() -> String {
        String(decoding: lines.take(lines.count).joined(), as: UTF8.self)
    }

    /// Ten logs and a decision, stored in good order; then the first page of `table` is zeroed.
    private func lose(_ table: String) throws {
        do {
            let store = try open()
            defer { store.close() }
            #expect(store.store(Batch(stream: .named("a"), logs: logs(0..<10))) == .stored)
            #expect(store.decide(["a": [1, 2]], "first") == nil)
        }
        let database = directory.path + "/queue.db"
        let connection = try Connection(database, .readWrite)
        let page = try connection.integer(
            "SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'"
        )
        let pageBytes = try Int(connection.integer("PRAGMA page_size"))
        try connection.finish()
        var bytes = readFile(database)
        let start = Int(page - 1) * pageBytes
        for index in start..<start + pageBytes { bytes[index] = 0 }
        writeFile(database, bytes)
    }

    /// Such a table is found damaged when somebody asks for it; then the queue is rebuilt, and can
    /// be asked again.
    private func insist<Answer>(_ store: DurableQueue, _ ask: () throws -> Answer) throws -> Answer
    {
        do { return try ask() } catch {
            store.wait { $0.salvages == 1 && $0.admission == .open }
            return try ask()
        }
    }

    private func expectTenLogs(in store: DurableQueue) throws {
        #expect(store.status.ledger.queued == 10 && store.status.ledger.isClosed)
        store.flush("app")
        let packet = Consumer(store).packets(1)[0]
        #expect(try store.contents(of: packet).elementsEqual(0..<10))
        store.end(packet, .stored)
        store.wait { $0.ledger.delivered == 10 }
        #expect(store.status.ledger.isClosed)
    }

    /// Stores ten logs, flips a bit and expects that the next start costs no log.
    private func expectNoLoss(
        of bit: UInt8,
        in directory: TemporaryDirectory,
        at place: (_ database: [UInt8]) throws -> Int
    ) throws {
        let journal = Journal(level: .warning, format: .json) { _ in }
        do {
            let store = try DurableQueue(.small(directory.path), journal: journal)
            defer { store.close() }
            #expect(store.store(Batch(stream: .named("a"), logs: logs(0..<10))) == .stored)
        }
        let database = directory.path + "/queue.db"
        var bytes = readFile(database)
        bytes[try place(bytes)] ^= bit
        writeFile(database, bytes)
        let store = try DurableQueue(.small(directory.path), journal: journal)
        defer { store.close() }
        try expectTenLogs(in: store)
    }

    @Test(
        "A column whose name is damaged costs no log",
        arguments: [
            "filtered INTEGER", "received INTEGER NOT NULL,\n    checksum", "pack_prefix TEXT",
            "value BLOB NOT NULL\n) WITHOUT ROWID", "message TEXT", "code TEXT",
        ]
    )
    func columnName(column: String) throws {
        try expectNoLoss(of: 1, in: directory) {
            try #require($0.firstRange(of: Array(column.utf8))).lowerBound
        }
    }

    @Test("A flipped bit in the page that describes the tables costs no log", arguments: 0..<8)
    func firstPage(bit: Int) throws {
        let pageBytes = QueueTuning().pageBytes
        for offset in stride(from: 100 + 13 * bit, to: pageBytes, by: 997) {
            try expectNoLoss(of: 1 << bit, in: TemporaryDirectory()) { _ in offset }
        }
    }

    @Test("Lost decisions are said, what the configuration says holds, and new ones are kept")
    func decisions() throws {
        try lose("decisions")
        do {
            let store = try open()
            defer { store.close() }
            #expect(try insist(store) { try store.recalled() } == [:])
            #expect(store.status.salvages == 1 && store.status.lostLogs == 0)
            #expect(said().contains("settings changed at run time are lost"))
            #expect(try store.audited().map(\.entry.subject) == ["first"])
            #expect(store.decide(["b": [3]], "second") == nil)
            try expectTenLogs(in: store)
        }
        let store = try open()
        defer { store.close() }
        #expect(try store.recalled() == ["b": [3]])
        #expect(said() == "")
    }

    @Test("A lost audit log takes no decision with it")
    func audit() throws {
        try lose("audit")
        let store = try open()
        defer { store.close() }
        #expect(try insist(store) { try store.audited() }.isEmpty)
        #expect(store.status.salvages == 1)
        #expect(try store.recalled() == ["a": [1, 2]])
        #expect(store.decide(["b": [3]], "second") == nil)
        #expect(try store.audited().map(\.entry.subject) == ["second"])
        try expectTenLogs(in: store)
    }

    @Test(
        "A lost ledger begins anew with the logs that are there, and it is said that nobody knows more"
    )
    func ledger() throws {
        try lose("ledger")
        let store = try open()
        defer { store.close() }
        #expect(store.status.salvages == 1)
        #expect(said().contains("the number of lost logs is unknown"))
        try expectTenLogs(in: store)
    }
}
