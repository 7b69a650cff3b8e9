import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(1))) struct IndexRepairTests {
    let directory = TemporaryDirectory()
    private let lines = Awaited<[UInt8]>()

    private var database: String { directory.path + "/queue.db" }

    private func open() throws -> DurableQueue {
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 100, age: .seconds(3600))
        let journal = Journal(level: .info, format: .json) { [lines] in lines.put($0) }
        return try DurableQueue(.small(directory.path, packets: limits), journal: journal)
    }

    /// A sealed packet of a hundred logs, and a hundred that wait.
    private func fill() throws -> (packet: SealedPacket, ledger: Ledger) {
        let store = try open()
        defer { store.close() }
        for row in 0..<20 {
            let batch = Batch(
                stream: .named("a"),
                logs: logs(row * 10..<row * 10 + 10, filling: 700)
            )
            #expect(store.store(batch) == .stored)
        }
        return (Consumer(store).packets(1)[0], store.status.ledger)
    }

    /// Where the index says how many logs the first or the last row has.
    private func placeInIndex(_ order: String = "") throws -> Int {
        let connection = try Connection(database, .readOnly)
        let root = try connection.integer(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'rows_by_stream'"
        )
        let received = try connection.integer(
            "SELECT received FROM rows ORDER BY id \(order) LIMIT 1"
        )
        let wanted = withUnsafeBytes(of: received.bigEndian, Array.init)
        let start = Int(root - 1) * 8192
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
        defer { store.close() }
        #expect(store.status.salvages == 0 && store.status.ledger == ledger)
        #expect(!directory.names.contains { $0.hasPrefix("queue.corrupt-") })
        let said = lines.take(lines.count).map { String(decoding: $0, as: UTF8.self) }
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
        defer { store.close() }
        #expect(store.status.salvages == 0 && store.status.ledger == ledger)
        let said = lines.take(lines.count).map { String(decoding: $0, as: UTF8.self) }
        #expect(said.contains { $0.contains("rebuilt from its table") })
        #expect(!said.contains { $0.contains("ledger did not agree") })
    }

    @Test("Where a table is damaged as well the queue is rebuilt")
    func tableToo() throws {
        let (_, ledger) = try fill()
        var bytes = readFile(database)
        bytes[try placeInIndex()] = 11
        let connection = try Connection(database, .readOnly)
        let page = try connection.integer("SELECT rootpage FROM sqlite_schema WHERE name = 'dead'")
        bytes[Int(page - 1) * 8192] = 0x55
        writeFile(database, bytes)
        let store = try open()
        defer { store.close() }
        #expect(store.status.salvages == 1 && store.status.ledger == ledger)
    }
}
