import CSQLite
import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct RecoveryTests {
    let directory = TemporaryDirectory()
    private var database: String { directory.path + "/queue.db" }

    @Test("What a crash leaves on disk is resumed: packets first, then what waited")
    func crash() throws {
        let store = try directory.queue()
        let consumer = Consumer(store)
        _ = store.store(Batch(logs(0..<10)))
        let delivered = consumer.sealed()
        _ = store.store(Batch(logs(10..<20)))
        let sealed = consumer.sealed()
        store.end(delivered, .stored)
        _ = store.store(Batch(logs(20..<30)))
        store.wait { $0.ledger.delivered == 10 }

        let copy = directory.copy()
        let crashed = try copy.queue()
        #expect(crashed.status.ledger == store.status.ledger)
        #expect(crashed.status.bytes == store.status.bytes)
        let heir = Consumer(crashed)
        let again = heir.packets(1)[0]
        #expect(again.packID == sealed.packID)
        #expect(try crashed.contents(of: again) == Array(10..<20))
        crashed.flush("app")
        #expect(try heir.packets(1).map(crashed.contents) == [Array(20..<30)])
    }

    @Test("Numbers and pack ids go on after everything was delivered and the gateway restarted")
    func numbersGoOn() throws {
        var seen: [SealedPacket] = []
        for round in 0..<3 {
            let store = try directory.queue()
            defer { store.close() }
            let consumer = Consumer(store)
            _ = store.store(Batch(logs([round])))
            let packet = consumer.sealed()
            store.end(packet, .stored)
            seen.append(packet)
        }
        #expect(seen.map(\.number) == seen.map(\.number).sorted())
        #expect(Set(seen.map(\.number)).count == 3)
        #expect(Set(seen.map(\.packID)).count == 3)
    }

    @Test(
        "A ledger that does not agree with the rows is put right, and the difference shows",
        arguments: [(7, 10, 0), (15, 10, 5)]
    )
    func ledger(counted: Int, accepted: Int, discarded: Int) throws {
        let store = try directory.queue()
        _ = store.store(Batch(logs(0..<10)))
        store.close()
        try execute(in: database, "UPDATE ledger SET queued = \(counted), accepted = \(counted)")
        let lines = Awaited<String>()
        let again = try directory.open(.small(directory.path), journal: lines.journal())
        let ledger = again.status.ledger
        #expect(ledger.queued == 10)
        #expect(ledger.discarded == Int64(discarded))
        #expect(ledger.accepted == Int64(max(counted, accepted)))
        #expect(ledger.isClosed)
        #expect(again.status.repairedLogs == abs(counted - 10))
        #expect(lines.take(1)[0].contains("ledger did not agree"))
    }

    @Test("A database of a newer Sluice is refused and left as it is")
    func newerSchema() throws {
        let store = try directory.queue()
        _ = store.store(Batch(logs(0..<10)))
        store.close()
        try execute(in: database, "PRAGMA user_version = 99")
        let error = #expect(throws: QueueError.self) {
            try DurableQueue(.small(directory.path), journal: .silent)
        }
        #expect(error?.kind == .newerSchema)
        #expect(error?.description.contains("schema 99") == true)
        try execute(in: database, "PRAGMA user_version = \(QueueSchema.migrations.count)")
        let again = try directory.queue()
        #expect(again.status.ledger.queued == 10)
        again.close()
    }

    @Test("A second process, or a second store, is refused with the holder's id")
    func secondStore() throws {
        let store = try directory.queue()
        let error = #expect(throws: QueueError.self) {
            try DurableQueue(.small(directory.path), journal: .silent)
        }
        #expect(error?.kind == .inUse)
        #expect(error?.description.contains("process \(getpid())") == true)
        #expect(error?.description.contains(directory.path) == true)
        store.close()
        try DurableQueue(.small(directory.path), journal: .silent).close()
    }

    @Test("The directory is created, and only its owner may read what is in it")
    func permissions() throws {
        let path = directory.path + "/deep/er"
        let store = try DurableQueue(.small(path), journal: .silent)
        defer { store.close() }
        _ = store.store(Batch(logs(0..<10)))
        var about = stat()
        #expect(stat(path, &about) == 0 && about.st_mode & 0o777 == 0o700)
        for name in ["queue.db", "queue.db-wal", "sluice.lock"] {
            #expect(stat(path + "/" + name, &about) == 0 && about.st_mode & 0o777 == 0o600)
        }
    }

    @Test("A path that is not a directory, or below one that is not, is refused with its name")
    func notADirectory() throws {
        writeFile(directory.path + "/file", [])
        for path in [directory.path + "/file", directory.path + "/file/below"] {
            let error = #expect(throws: QueueError.self) {
                try DurableQueue(.small(path), journal: .silent)
            }
            #expect(error?.kind == .directory)
            #expect(error?.description.contains(path) == true)
        }
    }

    @Test("A directory that cannot be written is refused", .enabled(if: getuid() != 0))
    func unwritable() throws {
        chmod(directory.path, 0o500)
        defer { chmod(directory.path, 0o700) }
        let error = #expect(throws: QueueError.self) {
            try DurableQueue(.small(directory.path), journal: .silent)
        }
        #expect(error?.kind == .directory)
    }

    @Test("The space of an outage is given back")
    func space() throws {
        let store = try directory.queue { $0.tuning.checkpointBytes = 1 << 20 }
        let consumer = Consumer(store)
        for number in 0..<200 {
            let noise = logs([number], noise: 1 << 16)
            #expect(store.store(Batch(stream: .named("\(number % 3)"), logs: noise)) == .stored)
        }
        store.wait { $0.databaseBytes > 10 << 20 }
        store.flush("app")
        store.request(100, for: "app")
        var taken = 0
        while taken < 200 {
            let packet = consumer.next()[0]
            taken += packet.logCount
            store.end(packet, .stored)
        }
        store.wait { $0.databaseBytes < 1 << 20 }
        #expect(eventually { fileSize(directory.path + "/queue.db") ?? 0 <= 1 << 20 })
    }

    @Test("What is stored comes out in order, and is gone once it is acknowledged")
    func roundTrip() throws {
        let store = try directory.queue()
        for start in stride(from: 0, to: 50, by: 10) {
            #expect(store.store(Batch(logs(start..<start + 10))) == .stored)
        }
        #expect(store.status.ledger.queued == 50)

        let consumer = Consumer(store)
        store.flush("app")
        let packet = try #require(consumer.packets(1).first)
        #expect(packet.logCount == 50)
        #expect(packet.recent != nil)
        #expect(try store.contents(of: packet) == Array(0..<50))

        store.end(packet, .stored)
        store.wait { $0.rows == 0 }
        #expect(store.status.bytes == 0)
        #expect(store.status.ledger.delivered == 50)
        #expect(store.status.ledger.isClosed)
    }

    @Test("A packet that is not in memory is read from the disk, the same as before")
    func readBack() throws {
        let store = try directory.queue { $0.tuning.recentBytesMax = 0 }
        #expect(store.store(Batch(logs(0..<1000))) == .stored)
        #expect(store.store(Batch(stream: .named("b"), logs: logs(1000..<1100))) == .stored)
        #expect(store.store(Batch(logs(1100..<1200))) == .stored)
        let consumer = Consumer(store)
        store.flush("app")
        let packets = consumer.packets(2)
        #expect(packets.allSatisfy { $0.recent == nil })
        let contents = try packets.map { try store.contents(of: $0) }
        #expect(Set(contents) == [Array(0..<1000) + Array(1100..<1200), Array(1000..<1100)])
    }

    @Test("A restart hands over what was sealed before, with the same id and content")
    func restart() throws {
        let before: SealedPacket
        do {
            let store = try DurableQueue(.small(directory.path), journal: .silent)
            let consumer = Consumer(store)
            _ = store.store(Batch(logs(0..<10)))
            before = consumer.sealed()
            _ = store.store(Batch(logs(10..<20)))
        }
        let store = try directory.queue()
        let consumer = Consumer(store)
        let again = consumer.packets(1)[0]
        #expect(again.number == before.number)
        #expect(again.packID == before.packID)
        #expect(again.stream == before.stream)
        #expect(try store.contents(of: again) == Array(0..<10))
        #expect(try store.contents(of: consumer.sealed()) == Array(10..<20))
    }
}
