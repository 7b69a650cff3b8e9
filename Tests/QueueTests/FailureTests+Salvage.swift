import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

// A disk fault affects the whole process. The tests of this suite run one after the other.
extension FailureTests {
    /// A queue of 300 logs, closed in good order.
    private func fill() throws {
        let store = try open()
        for row in 0..<30 {
            let numbers = row * 10..<row * 10 + 10
            _ = store.store(Batch(logs(numbers, filling: 500)))
        }
        store.close()
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
        try execute(in: path + "/queue.db", "UPDATE ledger SET delivered = -1")
        DiskFault.set(fault)
        let error = #expect(throws: QueueError.self) {
            try DurableQueue(.small(path), journal: .silent)
        }
        #expect(error?.kind == (fault == .full ? .diskFull : .io))
        #expect(kept.isEmpty)
        let store = try open()
        #expect(store.status.salvages == 1)
        #expect(kept.count == 1)
        #expect(store.status.ledger.queued == 300)
    }

    /// A queue of 300 logs that wait, ten dead letters and a packet that delivery held; its ledger
    /// is damaged.
    private func fillDamaged() throws -> Ledger {
        try fill()
        let store = try open()
        let now = UInt32(WallTime.now.seconds)
        #expect(store.store(.dead(timed(9000..<9010, at: now))) == .stored)
        _ = Consumer(store).sealed()
        let ledger = store.status.ledger
        store.close()
        try execute(in: path + "/queue.db", "UPDATE ledger SET delivered = -1")
        return ledger
    }

    /// A sector where a table begins, or, for nil, the schema.
    private func sector(
        of table: String?,
        in file: String? = nil,
        openedAs name: String = "queue.corrupt-",
        times: Int = .max
    ) throws -> DiskFault.BadSector {
        let database = path + "/queue.db"
        let place = try table.map { try firstByte(of: $0, in: database) } ?? 0
        return .init(in: file ?? database, at: Int64(place), openedAs: name, times: times)
    }

    /// Opens the damaged queue while one sector of its file cannot be read.
    private func open(spoiling sector: DiskFault.BadSector) throws -> DurableQueue {
        DiskFault.spoil(sector)
        return try open { $0.tuning.asideRetry = .milliseconds(10) }
    }

    private var marked: [String] {
        TemporaryDirectory.names(in: path).filter { $0.hasSuffix("-unsaved") }
    }

    @Test(
        "A read error that passes while a damaged queue is copied costs nothing",
        arguments: [nil, "streams", "packets", "rows", "ledger", "settings", "dead", "decisions"],
        [1, 2, 4]
    )
    func passingReadError(table: String?, times: Int) throws {
        let before = try fillDamaged()
        defer { DiskFault.spoil(nil) }
        let store = try open(spoiling: sector(of: table, times: times))
        store.wait { $0.asideLogs == 0 }
        #expect(DiskFault.failuresLeft == 0)
        #expect(store.status.salvages == 1 && store.status.lostLogs == 0)
        #expect(store.status.ledger == before)
        #expect(store.status.packets == 1)
        #expect(marked.isEmpty)
    }

    @Test("A sector that stays bad costs what lies on it after some attempts, and its file is kept")
    func badSectorInTable() throws {
        let before = try fillDamaged()
        defer { DiskFault.spoil(nil) }
        let store = try open(spoiling: sector(of: "dead"))
        // The rest is there at once.
        #expect(store.status.salvages == 1 && store.status.ledger.queued == before.queued)
        store.wait { $0.asideLogs == 0 }
        #expect(store.status.lostLogs == 10 && store.status.ledger.isClosed)
        let kept = marked
        #expect(kept.count == 1)
        store.close()
        let lines = Awaited<String>()
        let again = try directory.open(.small(path), journal: lines.journal(.warning))
        #expect(marked == kept)
        #expect(again.status.unsavedCopyBytes > 8192)
        let said = lines.take(1)[0]
        #expect(said.contains("may have the only copy of logs"))
    }

    @Test(
        "A later step skips at once what hid a part of the tables that each step reads",
        arguments: ["streams", "packets", "rows"]
    )
    func badSectorInLaterStep(table: String) throws {
        _ = try fillDamaged()
        let data = DataDirectory(path: path)
        let aside = try data.linkAside(.now)
        DiskFault.spoil(try sector(of: table, in: aside))
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
        defer { DiskFault.spoil(nil) }
        let store = try open(spoiling: sector(of: nil))
        #expect(store.status.salvages == 1 && store.status.ledger.accepted == 0)
        #expect(store.store(Batch(stream: .named("b"), logs: logs([1]))) == .stored)
        #expect(!marked.isEmpty)
        DiskFault.spoil(nil)
        store.wait { $0.salvagedLogs == 310 }
        store.wait { $0.admission == .open && $0.ledger.accepted == before.accepted + 1 }
        #expect(store.status.ledger.queued == 301 && store.status.lostLogs == 0)
        #expect(marked.isEmpty)
    }

    @Test(
        "A bad sector in a table that is read first holds up no start",
        arguments: ["ledger", "streams"]
    )
    func badSectorAtBegin(table: String) throws {
        let before = try fillDamaged()
        defer { DiskFault.spoil(nil) }
        let store = try open(spoiling: sector(of: table))
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
        defer { DiskFault.spoil(nil) }
        let store = try open(spoiling: sector(of: "rows_by_stream", openedAs: ""))
        #expect(store.status.salvages == 1)
        #expect(store.status.lostLogs == 0)
        #expect(store.status.ledger.queued == 300)
        #expect(store.status.ledger.isClosed)
    }
}
