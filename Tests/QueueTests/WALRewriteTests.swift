import Glibc
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct LogRewriteTests {
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
            try OpenStore.open(path, .small(copy.path), now: { .now }, handed: [])
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
        let (store, _) = try OpenStore.open(
            path,
            .small(copy.path),
            now: { .now },
            handed: []
        )
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
}
