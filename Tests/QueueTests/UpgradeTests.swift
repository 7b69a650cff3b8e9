import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Databases of all versions that there were, opened by this one.
@Suite(.timeLimit(.minutes(1))) struct UpgradeTests {
    let directory = TemporaryDirectory()

    private var database: String { directory.path + "/queue.db" }

    private func open(_ lines: Awaited<[UInt8]> = Awaited()) throws -> DurableQueue {
        let journal = Journal(level: .info, format: .json) { lines.put($0) }
        return try DurableQueue(
            .small(directory.path),
            journal: journal,
            clock: SchemaFixture.clock
        )
    }

    private func deliverAll(_ store: DurableQueue) throws -> [String: [UInt8]] {
        let consumer = Consumer(store)
        store.requestOnceKnown(100)
        var packets: [SealedPacket] = []
        while packets.reduce(0, { $0 + $1.logCount }) < 90 {
            store.flush("app")
            store.settle()
            packets += consumer.next(consumer.waiting)
        }
        var delivered: [String: [UInt8]] = [:]
        for packet in packets.sorted(by: { $0.rows.lowerBound < $1.rows.lowerBound }) {
            for block in try store.blocks(of: packet) {
                delivered[packet.stream.logstore, default: []] += try LZ4.decompress(
                    block.compressed,
                    rawBytes: block.rawBytes
                )
            }
            store.acknowledge(packet)
        }
        store.wait { $0.ledger.queued == 0 }
        return delivered
    }

    private func numbers(_ logs: [UInt8]) throws -> [Int] {
        try logs.withUnsafeBytes { bytes in
            var walk = LogEntries(bytes)
            var found: [Int] = []
            while let range = try walk.next() {
                found.append(try number(LogEntry(UnsafeRawBufferPointer(rebasing: bytes[range]))))
            }
            return found
        }
    }

    @Test("There is a queue of every version before this one")
    func complete() {
        let versions = Set(SchemaFixture.all.map(\.schema))
        // Fixtures/README.md says how one is added.
        #expect(versions == Set(1..<QueueSchema.migrations.count))
    }

    @Test("Every log of an older queue is there, byte for byte", arguments: SchemaFixture.all)
    func everyLog(fixture: SchemaFixture) throws {
        try fixture.unpack(into: directory)
        let stored = try storedLogs(in: directory)
        let store = try open()
        defer { store.close() }
        let before = store.status.ledger
        #expect(before.isClosed && before.queued == 90 && before.delivered == 3)
        #expect(before.dead == Int64(fixture.dead.count))
        let accepted = Int(before.accepted)
        #expect(
            store.status.intake
                == IntakeTally(received: accepted, routed: accepted, copies: accepted)
        )
        #expect(before.skipped == 0)
        #expect(try store.deadNumbers().sorted() == fixture.dead)

        let delivered = try deliverAll(store)
        #expect(delivered == stored)
        #expect(try delivered.mapValues(numbers) == SchemaFixture.queued)
        let after = store.status.ledger
        #expect(after.isClosed && after.delivered == 93 && after.accepted == before.accepted)
        #expect(store.status.repairedLogs == 0 && store.status.salvages == 0)
    }

    @Test(
        "An older queue is kept as it was, whole, and the journal says where",
        arguments: SchemaFixture.all
    )
    func keptCopy(fixture: SchemaFixture) throws {
        try fixture.unpack(into: directory)
        let stored = try storedLogs(in: directory)
        let lines = Awaited<[UInt8]>()
        try open(lines).close()
        let said = lines.take(lines.count).map { String(decoding: $0, as: UTF8.self) }
        let kept = directory.path + "/queue.schema-\(fixture.schema).db"
        guard fixture.schema < QueueSchema.migrations.count else {
            #expect(access(kept, F_OK) != 0)
            return
        }
        #expect(said.contains { $0.contains("migrated to a newer schema") && $0.contains(kept) })
        #expect(
            directory.names == ["queue.db", "queue.schema-\(fixture.schema).db", "sluice.lock"]
        )
        var about = stat()
        #expect(stat(kept, &about) == 0 && about.st_mode & 0o777 == 0o600)
        let connection = try Connection(kept, .readOnly)
        #expect(try connection.integer("PRAGMA user_version") == Int64(fixture.schema))
        #expect(try connection.integer("PRAGMA application_id") == Int64(QueueSchema.applicationID))
        #expect(try connection.integer("PRAGMA auto_vacuum") == 2)
        #expect(try connection.text("PRAGMA integrity_check") == "ok")
        #expect(try storedLogs(kept) == stored)
    }

    @Test("The copy that an upgrade kept can be put back and is upgraded again")
    func putBack() throws {
        let fixture = SchemaFixture(schema: 2, wasKilled: true)
        try fixture.unpack(into: directory)
        try open().close()
        let kept = directory.path + "/queue.schema-2.db"
        #expect(rename(kept, database) == 0)
        let store = try open()
        defer { store.close() }
        #expect(store.status.ledger.queued == 90)
        #expect(access(kept, F_OK) == 0)
    }

    @Test("A partial copy of an interrupted upgrade is replaced by a whole one")
    func afterDeath() throws {
        let fixture = SchemaFixture(schema: 3, wasKilled: false)
        try fixture.unpack(into: directory)
        let kept = directory.path + "/queue.schema-3.db"
        for name in [kept, kept + ".new", kept + ".new-journal"] { writeFile(name, [1, 2, 3]) }
        try open().close()
        #expect(directory.names == ["queue.db", "queue.schema-3.db", "sluice.lock"])
        #expect(try Connection(kept, .readOnly).text("PRAGMA integrity_check") == "ok")
    }

    @Test("If an upgrade cannot keep a copy, it changes nothing and tells the reason")
    func noCopy() throws {
        let fixture = SchemaFixture(schema: 4, wasKilled: true)
        try fixture.unpack(into: directory)
        let before = readFile(database)
        let log = readFile(database + "-wal")
        // A directory in its place.
        mkdir(directory.path + "/queue.schema-4.db", 0o700)
        let error = #expect(throws: QueueError.self) { try open() }
        #expect(error?.description.contains("queue.schema-4.db") == true)
        #expect(readFile(database) == before && readFile(database + "-wal") == log)
        #expect(!directory.names.contains { $0.hasSuffix(".new") })
    }

    @Test(
        "A damaged older queue is kept aside, and what can be read of it goes on",
        arguments: 2..<13
    )
    func damaged(page: Int) throws {
        try SchemaFixture(schema: 3, wasKilled: false).unpack(into: directory)
        var bytes = readFile(database)
        for index in page * 8192..<(page + 1) * 8192 { bytes[index] = 0xFF }
        writeFile(database, bytes)
        let store = try open()
        defer { store.close() }
        let ledger = store.status.ledger
        #expect(ledger.isClosed)
        #expect(
            directory.names.contains { $0.hasPrefix("queue.corrupt-") || $0 == "queue.schema-3.db" }
        )
        #expect(store.store(Batch(stream: .named("a"), logs: logs([1]))) == .stored)
    }

    @Test("An upgrade keeps operators' decisions and their names")
    func decisions() throws {
        try SchemaFixture(schema: 5, wasKilled: true).unpack(into: directory)
        let store = try open()
        defer { store.close() }
        let answer = Awaited<Result<[String: [UInt8]], QueueError>>()
        store.recall { answer.put($0) }
        #expect(try answer.take(1)[0].get().count == 1)
        let entries = Awaited<Result<[AuditRecord], QueueError>>()
        store.audit(before: nil, limit: 10) { entries.put($0) }
        #expect(try entries.take(1)[0].get().count == 1)
    }
}
