import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct CheckpointTests {
    let directory = TemporaryDirectory()

    @Test("While no log was opened a checkpoint leaves nothing of one", arguments: [false, true])
    func noLog(isWAL: Bool) throws {
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        if isWAL { try connection.execute("PRAGMA journal_mode = WAL") }
        for kind in [Connection.Checkpoint.passive, .restart, .truncate] {
            #expect(try connection.checkpoint(kind) == .nothing)
        }
        #expect(connection.walPages == 0)
    }

    @Test("A checkpoint says what a reader keeps in the log")
    func reader() throws {
        let path = directory.path + "/queue.db"
        let writer = try Connection(path, .readWrite)
        try writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (i)")
        try writer.execute("INSERT INTO t VALUES (1)")
        let reader = try Connection(path, .readOnly)
        try reader.execute("BEGIN; SELECT * FROM t")
        writer.watchLog()
        try writer.execute("INSERT INTO t VALUES (2)")
        let pages = writer.walPages
        #expect(pages > 1)
        #expect(try writer.checkpoint(.passive) == .pages(pages))
        #expect(try writer.checkpoint(.restart) == .pages(pages))
        try reader.execute("COMMIT")
        #expect(try writer.checkpoint(.restart) == .nothing)
    }

    @Test("The index of the log says how many of its frames count")
    func committedFrames() throws {
        let path = directory.path + "/queue.db"
        let writer = try Connection(path, .readWrite)
        try writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (i)")
        writer.watchLog()
        for number in 0..<5 {
            try writer.execute("INSERT INTO t VALUES (\(number))")
            let other = try Connection(path, .readWrite)
            try other.execute("BEGIN IMMEDIATE")
            #expect(other.committedFrames() == writer.walPages)
            try other.execute("COMMIT")
        }
        #expect(writer.walPages >= 5)
    }

    @Test("The log is moved less often while packets leave than while they wait")
    func lessOften() throws {
        let (leaving, waiting) = (try checkpoints(delivers: true), try checkpoints(delivers: false))
        #expect(waiting > 10)
        #expect(leaving * 2 < waiting, "\(leaving), \(waiting)")
    }

    @Test("Dead letters do not count as logs that wait")
    func besideDeadLetters() throws {
        let (without, with) = (
            try checkpoints(delivers: true), try checkpoints(delivers: true, dead: 32)
        )
        #expect(with < 2 * without + 5, "\(without), \(with)")
    }

    @Test("A power cut loses no more of a log that is not synced because packets leave")
    func notSynced() throws {
        let full = try checkpoints(delivers: true)
        #expect(try checkpoints(delivers: true, .normal) > 2 * full)
    }

    /// How often the log was moved while 200 batches of 64 KiB were stored.
    private func checkpoints(
        delivers: Bool,
        _ durability: Durability = .full,
        dead: Int = 0
    ) throws -> Int {
        let path = "\(directory.path)/\(delivers)-\(durability)-\(dead)"
        var configuration = QueueConfiguration.small(path)
        configuration.durability = durability
        configuration.tuning.checkpointBytes = 1 << 20
        let store = try DurableQueue(configuration, journal: .silent)
        defer { store.close() }
        let consumer = Consumer(store)
        let bytes: [UInt8] = [0x0A, 0x80, 0x80, 0x04]
        for _ in 0..<dead {
            let noise = EncodedLogs(bytes: bytes + randomBytes(1 << 16), count: 1)
            let reason = DeathReason(code: "Test", message: "")
            let dead = [Batch.Dead(logs: noise, reason: reason)]
            let batch = Batch(stream: .named("a"), logs: EncodedLogs(), dead: dead)
            #expect(store.store(batch) == .stored)
        }
        let before = store.status.checkpoints
        for _ in 0..<200 {
            let noise = EncodedLogs(bytes: bytes + randomBytes(1 << 16), count: 1)
            #expect(store.store(Batch(stream: .named("a"), logs: noise)) == .stored)
            guard delivers else { continue }
            store.flush("app")
            store.request(1, for: "app")
            for packet in consumer.next() { store.end(packet, .stored) }
        }
        return store.status.checkpoints - before
    }
}
