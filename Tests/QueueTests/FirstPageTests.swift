import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// What SQLite must know of a file before it reads anything of it.
@Suite(.timeLimit(.minutes(1))) struct FirstPageTests {
    let directory = TemporaryDirectory()
    private let pageBytes = 8192

    private var database: String { directory.path + "/queue.db" }

    private func fill() throws {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        defer { store.close() }
        for row in 0..<100 {
            let batch = Batch(
                stream: .named("s\(row % 3)"),
                logs: logs(row * 3..<row * 3 + 3, filling: 500)
            )
            #expect(store.store(batch) == .stored)
        }
    }

    /// Opens it; returns the ledger once it is whole again.
    private func ledger(
        _ directory: TemporaryDirectory,
        _ comment: Comment = "",
        salvages: Int = 1
    ) throws -> Ledger {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
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
            let store = try DurableQueue(.small(copy.path), journal: .silent)
            defer { store.close() }
            let found = store.status.ledger
            #expect(found.isClosed && found.accepted == 300 && found.queued == 300, "byte \(place)")
        }
    }

    @Test("A lost first page costs no logs that are in the WAL", arguments: [100, 8192])
    func withLog(count: Int) throws {
        let copy = try directory.fillLog()
        overwrite(copy) { $0.replaceSubrange(..<count, with: [UInt8](repeating: 0, count: count)) }
        let store = try DurableQueue(.small(copy.path), journal: .silent)
        defer { store.close() }
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
