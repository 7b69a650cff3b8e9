import Logs
import System
import Testing

@testable import Queue

// Of the same suite, whose tests take turns: the disk's faults are the whole process's.
extension FailureTests {
    private var path: String { directory.path + "/faulty" }

    /// A queue of 300 logs, closed in good order.
    private func fill() throws {
        DiskFault.set(.none)
        let store = try LogStore(.small(path), journal: .silent)
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
            let connection = try Connection(path + "/queue.db", .readWrite)
            try connection.execute("UPDATE ledger SET delivered = -1")
            try connection.finish()
        }
        DiskFault.set(fault)
        do {
            let error = #expect(throws: QueueError.self) {
                try LogStore(.small(path), journal: .silent)
            }
            #expect(error?.kind == (fault == .full ? .diskFull : .io))
            #expect(kept.isEmpty)
        }
        DiskFault.set(.none)
        let store = try LogStore(.small(path), journal: .silent)
        defer { store.close() }
        #expect(store.status.salvages == 1)
        #expect(kept.count == 1)
        #expect(store.status.ledger.queued == 300)
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
        let store = try LogStore(.small(path), journal: .silent)
        defer { store.close() }
        #expect(store.status.salvages == 1)
        #expect(store.status.lostLogs == 0)
        #expect(store.status.ledger.queued == 300)
        #expect(store.status.ledger.isClosed)
    }
}
