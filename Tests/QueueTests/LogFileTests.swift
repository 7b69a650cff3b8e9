import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct LogRewriteTests {
    let directory = TemporaryDirectory()

    private func frameBytes(_ log: [UInt8]) -> Int {
        24 + log[8..<12].reduce(0) { $0 << 8 | Int($1) }
    }

    /// When its content was last written.
    private func written(_ path: String) -> timespec {
        var about = stat()
        stat(path, &about)
        return about.st_mtim
    }

    @Test("A rewrite writes every frame once more and changes none")
    func wholeLog() throws {
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db-wal"
        let log = readFile(path)
        let times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        #expect(try WALRewrite.run(path) == (log.count - 32) / frameBytes(log))
        #expect(readFile(path) == log)
        #expect(written(path).tv_sec > 1)
    }

    @Test("A rewrite stops at the first frame that differs and leaves those behind it unchanged")
    func damagedFrame() throws {
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db-wal"
        var log = readFile(path)
        log[32 + 5 * frameBytes(log) + 500] ^= 1
        writeFile(path, log)
        #expect(try WALRewrite.run(path) == 5)
        #expect(readFile(path) == log)
    }

    @Test("Nothing goes from a log into the database before all of it is proved")
    func provedBeforeMoved() throws {
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db"
        // It keeps the index of the log, which then says more than the file can prove.
        let reader = try Connection(path, .readWrite)
        #expect(try reader.integer("SELECT count(*) FROM rows") > 0)
        var log = readFile(path + "-wal")
        log[32 + 5 * frameBytes(log) + 500] ^= 1
        writeFile(path + "-wal", log)
        let before = readFile(path)
        let error = #expect(throws: SQLiteError.self) {
            try copy.openStore(.small(copy.path))
        }
        #expect(error?.kind == .corrupt)
        #expect(readFile(path) == before)
        #expect(try reader.integer("PRAGMA user_version") > 0)
    }

    @Test("Beside a reader with a snapshot the log is certain as well, and stays as it was")
    func besideReader() throws {
        let copy = try directory.fillLog()
        let path = copy.path + "/queue.db"
        let reader = try Connection(path, .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM rows")
        let log = readFile(path + "-wal")
        let store = try copy.openStore(.small(copy.path))
        #expect(store.files.isLogCertain && store.destinations.named("app").ledger.queued == 300)
        #expect(readFile(path + "-wal").starts(with: log))
    }

    @Test("A read error is not taken for the end of the log, and is one that may pass")
    func readError() throws {
        // Nothing is mapped at its first page.
        let error = SystemError(call: "pread", code: EIO)
        #expect(throws: error) { try WALRewrite.run("/proc/self/mem") }
        let found = SQLiteError.system(error, "queue.db-wal")
        #expect(found.isUnreadable && found.kind == .io && !found.isDamage)
    }

    @Test("A read error behind the first bytes of a frame is not taken for the end of the log")
    func readErrorInFrame() throws {
        let page = sysconf(CInt(_SC_PAGESIZE))
        let pages = try #require(
            mmap(nil, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        )
        // Behind the first page nothing is mapped then.
        munmap(pages + page, page)
        defer { munmap(pages, page) }
        let memory = OwnedDescriptor(
            taking: try system("open") { open("/proc/self/mem", O_RDONLY | O_CLOEXEC) }
        )
        let end = Int(bitPattern: pages) + page
        #expect(try WALRewrite.read(memory.number, 10, at: end - 10)?.count == 10)
        #expect(throws: SystemError(call: "pread", code: EIO)) {
            try WALRewrite.read(memory.number, 20, at: end - 10)
        }
    }

    @Test("A log that is empty has no frames, and one that is not there is an error")
    func noLog() throws {
        let path = directory.path + "/queue.db-wal"
        #expect(throws: SystemError(call: "open", code: ENOENT)) { try WALRewrite.run(path) }
        writeFile(path, [])
        #expect(try WALRewrite.run(path) == 0)
    }

    @Test("While no log was opened a checkpoint leaves nothing of one", arguments: [false, true])
    func checkpointWithoutLog(isWAL: Bool) throws {
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
        // On a busy machine there are idle moments, in which the log is moved as well.
        configuration.tuning.housekeeping = .seconds(60)
        let store = try directory.open(configuration)
        defer { store.close() }
        let consumer = Consumer(store)
        let bytes: [UInt8] = [0x0A, 0x80, 0x80, 0x04]
        for _ in 0..<dead {
            let noise = EncodedLogs(bytes: bytes + randomBytes(1 << 16), count: 1)
            #expect(store.store(.dead(noise)) == .stored)
        }
        let before = store.status.checkpoints
        for _ in 0..<200 {
            let noise = EncodedLogs(bytes: bytes + randomBytes(1 << 16), count: 1)
            #expect(store.store(Batch(noise)) == .stored)
            guard delivers else { continue }
            store.flush("app")
            store.request(1, for: "app")
            for packet in consumer.next() { store.end(packet, .stored) }
        }
        return store.status.checkpoints - before
    }

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
        let store = try directory.queue { $0.durability = durability }
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
