import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// A database of which the log is left.
@Suite(.timeLimit(.minutes(5))) struct LogAloneTests {
    let directory = TemporaryDirectory()

    @Test(
        "What is in the log of a file without content is there",
        arguments: [0, 1, 2, 31, 99, 100, 4096]
    )
    func cutOff(bytes: Int) throws {
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db"
        writeFile(path, Array(readFile(path).prefix(bytes)))
        try expectAll(copy)
    }

    @Test("A WAL without its database keeps its logs")
    func removed() throws {
        let copy = try directory.fillLog()
        unlink(copy.path + "/queue.db")
        try expectAll(copy)
    }

    @Test("A damaged WAL without its database keeps its readable logs")
    func damaged() throws {
        let copy = try directory.fillLog()
        writeFile(copy.path + "/queue.db", [])
        var log = readFile(copy.path + "/queue.db-wal")
        log[5] ^= 1
        log[32 + 3 * 8216 + 500] ^= 1
        writeFile(copy.path + "/queue.db-wal", log)
        try expectAll(copy)
    }

    @Test("A WAL without its database is kept also if commits are not synced")
    func normal() throws {
        let copy = try directory.fillLog()
        writeFile(copy.path + "/queue.db", [])
        try expectAll(copy, .normal)
    }

    @Test("A WAL of a newer version is left unchanged, with its database or alone")
    func newer() throws {
        let copy = try directory.fillLog()
        do {
            let connection = try Connection(copy.path + "/queue.db", .readWrite)
            try connection.execute("PRAGMA user_version = \(QueueSchema.migrations.count + 1)")
        }
        let log = readFile(copy.path + "/queue.db-wal")
        for isAlone in [false, true] {
            if isAlone { unlink(copy.path + "/queue.db") }
            let error = #expect(throws: QueueError.self) {
                try DurableQueue(.small(copy.path), journal: .silent)
            }
            #expect(error?.kind == .newerSchema)
            #expect(readFile(copy.path + "/queue.db-wal") == log)
            #expect(!copy.names.contains { $0.hasPrefix("queue.corrupt-") })
        }
    }

    private func expectAll(
        _ directory: TemporaryDirectory,
        _ durability: Durability = .full
    ) throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.durability = durability
        let store = try DurableQueue(configuration, journal: .silent)
        defer { store.close() }
        #expect(store.status.salvages == 1)
        let ledger = store.status.ledger
        #expect(ledger.isClosed && ledger.accepted == 300 && ledger.queued == 300)
    }

    @Test(
        "Looking at it and copying it leave the log, which SQLite would remove",
        arguments: [0, 1]
    )
    func looked(bytes: Int) throws {
        let copy = try directory.fillLog()
        writeFile(copy.path + "/queue.db", [UInt8](repeating: 0, count: bytes))
        let log = readFile(copy.path + "/queue.db-wal")
        let report = try Inspection.run(copy.path)
        #expect(report.findings.map(\.fault) == [.structure] && report.findings[0].count == 1)
        #expect(throws: QueueError.self) { try Backup.run(copy.path, to: copy.path + "/copy.db") }
        #expect(readFile(copy.path + "/queue.db-wal") == log)
        #expect(!copy.names.contains("copy.db"))
    }
}
