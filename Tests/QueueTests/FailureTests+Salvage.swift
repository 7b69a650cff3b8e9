import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

// Of the same suite, whose tests take turns: the disk's faults are the whole process's.
extension FailureTests {
    private var path: String { directory.path + "/faulty" }

    /// A queue of 300 logs, closed in good order.
    private func fill() throws {
        DiskFault.set(.none)
        let store = try DurableQueue(.small(path), journal: .silent)
        defer { store.close() }
        for row in 0..<30 {
            let numbers = row * 10..<row * 10 + 10
            _ = store.store(Batch(stream: .named("a"), logs: logs(numbers, filling: 500)))
        }
    }

    private var kept: [String] {
        TemporaryDirectory.names(in: path).filter {
            $0.hasPrefix("queue.corrupt-") && $0.hasSuffix(".db")
        }
    }

    @Test(
        "A salvage that fails leaves no copy behind, and the next one does its work",
        arguments: [DiskFault.writeError, .full]
    )
    func failedSalvage(fault: DiskFault) throws {
        try fill()
        do {
            try execute(in: path + "/queue.db", "UPDATE ledger SET delivered = -1")
        }
        DiskFault.set(fault)
        do {
            let error = #expect(throws: QueueError.self) {
                try DurableQueue(.small(path), journal: .silent)
            }
            #expect(error?.kind == (fault == .full ? .diskFull : .io))
            #expect(kept.isEmpty)
        }
        DiskFault.set(.none)
        let store = try DurableQueue(.small(path), journal: .silent)
        defer { store.close() }
        #expect(store.status.salvages == 1)
        #expect(kept.count == 1)
        #expect(store.status.ledger.queued == 300)
    }

    /// A queue of 300 logs that wait, ten dead letters and a packet that delivery held; its ledger
    /// is damaged.
    private func fillDamaged() throws -> Ledger {
        try fill()
        let ledger: Ledger
        do {
            let store = try DurableQueue(.small(path), journal: .silent)
            defer { store.close() }
            let reason = DeathReason(code: "A", message: "m")
            let now = UInt32(WallTime.now.seconds)
            let dead = Batch.Dead(logs: timed(9000..<9010, at: now), reason: reason)
            let empty = EncodedLogs(bytes: [], count: 0)
            let batch = Batch(stream: .named("a"), logs: empty, dead: [dead])
            #expect(store.store(batch) == .stored)
            store.flush("app")
            _ = Consumer(store).packets(1)
            ledger = store.status.ledger
        }
        try execute(in: path + "/queue.db", "UPDATE ledger SET delivered = -1")
        return ledger
    }

    /// Where a table begins; nil where the schema does.
    private func place(of table: String?) throws -> Int64 {
        guard let table else { return 0 }
        let connection = try Connection(path + "/queue.db", .readWrite)
        let page = try connection.integer(
            "SELECT rootpage FROM sqlite_schema WHERE name = '\(table)'"
        )
        return (page - 1) * (try connection.integer("PRAGMA page_size"))
    }

    @Test(
        "A read error that passes while a damaged queue is copied costs nothing",
        arguments: [nil, "streams", "packets", "rows", "ledger", "settings", "dead", "decisions"],
        [1, 2, 4]
    )
    func passingReadError(table: String?, times: Int) throws {
        let before = try fillDamaged()
        let sector = DiskFault.BadSector(
            in: path + "/queue.db",
            at: try place(of: table),
            openedAs: "queue.corrupt-",
            times: times
        )
        DiskFault.spoil(sector)
        defer { DiskFault.spoil(nil) }
        var configuration = QueueConfiguration.small(path)
        configuration.tuning.asideRetry = .milliseconds(10)
        let store = try DurableQueue(configuration, journal: .silent)
        defer { store.close() }
        store.wait { $0.asideLogs == 0 }
        #expect(DiskFault.failuresLeft == 0)
        #expect(store.status.salvages == 1 && store.status.lostLogs == 0)
        #expect(store.status.ledger == before)
        #expect(store.status.packets == 1)
        #expect(!TemporaryDirectory.names(in: path).contains { $0.hasSuffix("-unsaved") })
    }

    @Test("A sector that stays bad costs what lies on it after some attempts, and its file is kept")
    func badSectorInTable() throws {
        let before = try fillDamaged()
        DiskFault.spoil(
            DiskFault.BadSector(
                in: path + "/queue.db",
                at: try place(of: "dead"),
                openedAs: "queue.corrupt-"
            )
        )
        defer { DiskFault.spoil(nil) }
        var configuration = QueueConfiguration.small(path)
        configuration.tuning.asideRetry = .milliseconds(10)
        let store = try DurableQueue(configuration, journal: .silent)
        // The rest is there at once.
        #expect(store.status.salvages == 1 && store.status.ledger.queued == before.queued)
        store.wait { $0.asideLogs == 0 }
        #expect(store.status.lostLogs == 10 && store.status.ledger.isClosed)
        let marked = TemporaryDirectory.names(in: path).filter { $0.hasSuffix("-unsaved") }
        #expect(marked.count == 1)
        store.close()
        let lines = Awaited<[UInt8]>()
        let journal = Journal(level: .warning, format: .json) { lines.put($0) }
        let again = try DurableQueue(configuration, journal: journal)
        defer { again.close() }
        #expect(TemporaryDirectory.names(in: path).filter { $0.hasSuffix("-unsaved") } == marked)
        #expect(again.status.unsavedCopyBytes > 8192)
        let said = String(decoding: lines.take(1)[0], as: UTF8.self)
        #expect(said.contains("may have the only copy of logs"))
    }

    @Test(
        "A later step skips at once what hid a part of the tables that each step reads",
        arguments: ["streams", "packets", "rows"]
    )
    func badSectorInLaterStep(table: String) throws {
        _ = try fillDamaged()
        let offset = try place(of: table)
        let data = DataDirectory(path: path)
        let aside = try data.linkAside(.now)
        DiskFault.spoil(DiskFault.BadSector(in: aside, at: offset, openedAs: "queue.corrupt-"))
        defer { DiskFault.spoil(nil) }
        let (connection, _) = try QueueDatabase.connect(data.salvage, .small(path))
        let saved = try QueueDatabase(connection, path: data.salvage)
        var outcomes: [Bool] = []
        for hasUnreadable in [false, true] {
            var remainder = Remainder(of: "aside", upTo: 1 << 40)
            remainder.hasUnreadable = hasUnreadable
            let file = DamagedFile(aside, skippingUnreadable: false)
            var salvage = try Salvage(
                from: Connection(aside, .readWrite),
                in: file,
                into: saved,
                .small(path),
                remainder
            )
            // Whatever it finds has no room.
            outcomes.append(try salvage.copy({ 0 }, whenAllIsCopied: {}) == .unreadable)
        }
        // Rows are read once, so they have attempts of their own.
        #expect(outcomes == [true, table == "rows"])
    }

    @Test("A first page that cannot be read holds up no start, and its logs come once it can")
    func badFirstPage() throws {
        let before = try fillDamaged()
        DiskFault.spoil(
            DiskFault.BadSector(in: path + "/queue.db", at: 0, openedAs: "queue.corrupt-")
        )
        defer { DiskFault.spoil(nil) }
        var configuration = QueueConfiguration.small(path)
        configuration.tuning.asideRetry = .milliseconds(10)
        let store = try DurableQueue(configuration, journal: .silent)
        defer { store.close() }
        #expect(store.status.salvages == 1 && store.status.ledger.accepted == 0)
        #expect(store.store(Batch(stream: .named("b"), logs: logs([1]))) == .stored)
        #expect(TemporaryDirectory.names(in: path).contains { $0.hasSuffix("-unsaved") })
        DiskFault.spoil(nil)
        store.wait { $0.salvagedLogs == 310 }
        store.wait { $0.admission == .open && $0.ledger.accepted == before.accepted + 1 }
        #expect(store.status.ledger.queued == 301 && store.status.lostLogs == 0)
        #expect(!TemporaryDirectory.names(in: path).contains { $0.hasSuffix("-unsaved") })
    }

    @Test(
        "A bad sector in a table that is read first holds up no start",
        arguments: ["ledger", "streams"]
    )
    func badSectorAtBegin(table: String) throws {
        let before = try fillDamaged()
        DiskFault.spoil(
            DiskFault.BadSector(
                in: path + "/queue.db",
                at: try place(of: table),
                openedAs: "queue.corrupt-"
            )
        )
        defer { DiskFault.spoil(nil) }
        var configuration = QueueConfiguration.small(path)
        configuration.tuning.asideRetry = .milliseconds(10)
        let store = try DurableQueue(configuration, journal: .silent)
        defer { store.close() }
        // Only the table of streams says whose logs these are.
        let logs = table == "streams" ? 0 : before.queued
        store.wait { $0.salvagedLogs == logs + 10 }
        store.wait { $0.asideLogs == 0 }
        #expect(store.status.salvages == 1 && store.status.ledger.isClosed)
        #expect(store.status.ledger.queued == logs)
    }

    @Test("A bad sector costs what lies on it, not the start")
    func badSector() throws {
        try fill()
        var offset: Int64 = 0
        do {
            let connection = try Connection(path + "/queue.db", .readWrite)
            let page = try connection.integer(
                "SELECT rootpage FROM sqlite_schema WHERE name = 'rows_by_stream'"
            )
            offset = (page - 1) * (try connection.integer("PRAGMA page_size"))
        }
        DiskFault.spoil(DiskFault.BadSector(in: path + "/queue.db", at: offset))
        defer { DiskFault.spoil(nil) }
        let store = try DurableQueue(.small(path), journal: .silent)
        defer { store.close() }
        #expect(store.status.salvages == 1)
        #expect(store.status.lostLogs == 0)
        #expect(store.status.ledger.queued == 300)
        #expect(store.status.ledger.isClosed)
    }
}
