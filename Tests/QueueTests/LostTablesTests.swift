import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// A table whose first page is gone costs what it held, is said, and takes no log with it.
@Suite(.timeLimit(.minutes(10))) struct LostTablesTests {
    let directory = TemporaryDirectory()
    private let lines = Awaited<String>()

    private func open() throws -> DurableQueue {
        try directory.open(.small(directory.path), journal: lines.journal(.warning))
    }

    private func said() -> String {
        lines.take(lines.count).joined()
    }

    /// Ten logs and a decision, stored in good order; then the first page of `table` is zeroed.
    private func lose(_ table: String) throws {
        do {
            let store = try open()
            defer { store.close() }
            #expect(store.store(Batch(logs(0..<10))) == .stored)
            #expect(store.decide(["a": [1, 2]], "first") == nil)
        }
        let database = directory.path + "/queue.db"
        let start = try firstByte(of: table, in: database)
        var bytes = readFile(database)
        for index in start..<start + 8192 { bytes[index] = 0 }
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
        let packet = Consumer(store).sealed()
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
            #expect(store.store(Batch(logs(0..<10))) == .stored)
        }
        let database = directory.path + "/queue.db"
        var bytes = readFile(database)
        bytes[try place(bytes)] ^= bit
        writeFile(database, bytes)
        let store = try directory.open(.small(directory.path), journal: journal)
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
        #expect(try store.recalled() == ["b": [3]])
        #expect(said() == "")
    }

    @Test("A lost audit log takes no decision with it")
    func audit() throws {
        try lose("audit")
        let store = try open()
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
        #expect(store.status.salvages == 1)
        #expect(said().contains("the number of lost logs is unknown"))
        try expectTenLogs(in: store)
    }

    /// Ten logs queued and a hundred dead, of which one is changed; returns the ledger of before.
    private func fill(_ change: String? = nil) throws -> Ledger {
        let store = try DurableQueue(.small(directory.path), journal: .silent)
        let now = UInt32(WallTime.now.seconds)
        let dead = Batch.dead(timed(0..<100, at: now, filling: 900))
        #expect(store.store(dead, Batch(timed(100..<110, at: now))) == .stored)
        let ledger = store.status.ledger
        store.close()
        if let change {
            try execute(in: directory.path + "/queue.db", change)
        }
        return ledger
    }

    @Test("A rebuilt queue has all dead letters that can be read, and counts the others")
    func salvage() throws {
        let ledger = try fill(
            """
            UPDATE dead SET message = 'x' WHERE id = (SELECT max(id) FROM dead);
            UPDATE ledger SET accepted = -1
            """
        )
        let store = try directory.queue()
        #expect(store.status.salvages == 1)
        #expect(try store.deadNumbers() == Array(0..<99))
        #expect(store.status.ledger.dead == 99 && store.status.ledger.queued == 10)
        #expect(store.status.ledger.discarded == 1)
        #expect(store.status.ledger.accepted == ledger.accepted)
        #expect(store.status.salvagedLogs == 109 && store.status.lostLogs == 1)
        #expect(store.status.ledger.isClosed)
    }

    @Test(
        "Numbers that cannot be are found at the start, and cost one letter",
        arguments: ["cost", "id"],
        [Int64.max, .min, -1, 1 << 60]
    )
    func implausible(column: String, value: Int64) throws {
        let ledger = try fill(
            "UPDATE dead SET \(column) = \(value) WHERE id = (SELECT max(id) FROM dead)"
        )
        let store = try directory.queue()
        let found = store.status.ledger
        #expect(found.isClosed && found.accepted == ledger.accepted && found.queued == 10)
        #expect(found.dead >= 99)
        #expect(store.purging(.matching(.init())).changed == found.dead)
        #expect(store.status.ledger.isClosed && store.status.ledger.dead == 0)
    }
}

@Suite(.timeLimit(.minutes(10))) struct IndexRepairTests {
    let directory = TemporaryDirectory()
    private let lines = Awaited<String>()

    private var database: String { directory.path + "/queue.db" }

    private func open() throws -> DurableQueue {
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 100, age: .seconds(3600))
        return try DurableQueue(.small(directory.path, packets: limits), journal: lines.journal())
    }

    /// A sealed packet of a hundred logs, and a hundred that wait.
    private func fill() throws -> (packet: SealedPacket, ledger: Ledger) {
        let store = try open()
        for row in 0..<20 {
            let logs = logs(row * 10..<row * 10 + 10, filling: 700)
            #expect(store.store(Batch(logs)) == .stored)
        }
        return (Consumer(store).packets(1)[0], store.status.ledger)
    }

    /// Where the index says how many logs the first or the last row has.
    private func placeInIndex(_ order: String = "") throws -> Int {
        let connection = try Connection(database, .readOnly)
        let received = try connection.integer(
            "SELECT received FROM rows ORDER BY id \(order) LIMIT 1"
        )
        let wanted = withUnsafeBytes(of: received.bigEndian, Array.init)
        let start = try firstByte(of: "rows_by_stream", in: database)
        let page = Array(readFile(database)[start..<start + 8192])
        let place = try #require(
            (0...page.count - 8).first { Array(page[$0..<$0 + 8]) == wanted }
        )
        // Before it stand the size and the raw bytes, two bytes each.
        #expect(page[place - 5] == 10)
        return start + place - 5
    }

    @Test("Where an index alone is damaged it is rebuilt in its place, and nothing is moved aside")
    func indexAlone() throws {
        let (packet, ledger) = try fill()
        var bytes = readFile(database)
        bytes[try placeInIndex()] = 11
        writeFile(database, bytes)
        let store = try open()
        #expect(store.status.salvages == 0 && store.status.ledger == ledger)
        #expect(!directory.names.contains { $0.hasPrefix("queue.corrupt-") })
        let said = lines.take(lines.count)
        #expect(said.contains { $0.contains("rebuilt from its table") })
        let consumer = Consumer(store)
        let found = consumer.packets(1)[0]
        #expect(found.packID == packet.packID)
        #expect(try store.contents(of: found) == Array(0..<100))
    }

    @Test("An index that counts other logs than the ledger is rebuilt, and no log is counted twice")
    func waitingRow() throws {
        let (_, ledger) = try fill()
        var bytes = readFile(database)
        bytes[try placeInIndex("DESC")] = 53
        writeFile(database, bytes)
        let store = try open()
        #expect(store.status.salvages == 0 && store.status.ledger == ledger)
        let said = lines.take(lines.count)
        #expect(said.contains { $0.contains("rebuilt from its table") })
        #expect(!said.contains { $0.contains("ledger did not agree") })
    }

    @Test("Where a table is damaged as well the queue is rebuilt")
    func tableToo() throws {
        let (_, ledger) = try fill()
        var bytes = readFile(database)
        bytes[try placeInIndex()] = 11
        bytes[try firstByte(of: "dead", in: database)] = 0x55
        writeFile(database, bytes)
        let store = try open()
        #expect(store.status.salvages == 1 && store.status.ledger == ledger)
    }
}
