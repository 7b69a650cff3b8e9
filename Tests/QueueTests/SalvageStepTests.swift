import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Steps of a salvage, with a room that the test says.
@Suite(.timeLimit(.minutes(10))) struct SalvageStepTests {
    let directory = TemporaryDirectory()

    private var configuration: QueueConfiguration {
        .small(
            directory.path,
            packets: PacketLimits(rawBytes: 1 << 20, logs: 100, age: .seconds(3600))
        )
    }

    /// What a row of ten of these logs may take.
    private let rowRoom = 30_000

    /// Logs that do not compress: ten are a row of more than 10,000 bytes.
    private func noise(_ row: Int) -> EncodedLogs {
        logs(row * 10..<row * 10 + 10, noise: 1000)
    }

    /// Packets of a hundred logs in ten rows, and with `waiting` ten rows behind them.
    private func fill(packets: Int, waiting: Bool = false) throws -> [SealedPacket] {
        let store = try directory.open(configuration)
        defer { store.close() }
        for row in 0..<packets * 10 {
            #expect(store.store(Batch(noise(row))) == .stored)
        }
        let sealed = Consumer(store).packets(packets)
        for row in packets * 10..<packets * 10 + (waiting ? 10 : 0) {
            #expect(store.store(Batch(noise(row))) == .stored)
        }
        return sealed
    }

    /// A salvage into a new database, begun.
    private func begin() throws -> Salvage {
        let data = DataDirectory(path: directory.path)
        let aside = try data.linkAside(.now)
        let (connection, _) = try QueueDatabase.connect(data.salvage, configuration)
        let saved = try QueueDatabase(connection, path: data.salvage)
        var salvage = try self.salvage(aside, into: saved, Remainder(of: "aside", upTo: 1 << 40))
        try salvage.begin(acknowledged: [:])
        return salvage
    }

    private func salvage(
        _ aside: String,
        into saved: QueueDatabase,
        _ remainder: Remainder
    ) throws -> Salvage {
        try Salvage(
            from: Connection(aside, .readWrite),
            in: DamagedFile(aside),
            into: saved,
            configuration,
            remainder
        )
    }

    private func rows(_ salvage: Salvage) throws -> Int64 {
        try salvage.saved.connection.integer("SELECT count(*) FROM rows")
    }

    @Test("A removed stream comes back with its first copied log, if there is room")
    func forgottenStreams() throws {
        _ = try fill(packets: 1, waiting: true)
        var salvage = try begin()
        try salvage.saved.connection.execute("DELETE FROM streams")
        #expect(try salvage.copy({ 0 }, whenAllIsCopied: {}) == .noRoom)
        #expect(try salvage.saved.streams.all().isEmpty)
        #expect(try salvage.copy({ 1 << 20 }, whenAllIsCopied: {}) == .done(lost: 0))
        #expect(try salvage.saved.streams.all().count == 1)
        #expect(try rows(salvage) == 20)
    }

    @Test("A stream that has nothing left to copy does not come back")
    func emptyStreams() throws {
        let store = try directory.open(configuration)
        for name in 0..<50 {
            let batch = Batch(stream: .named("\(name)"), logs: logs([name]))
            #expect(store.store(batch) == .stored)
        }
        store.close()
        let first = "(SELECT min(id) FROM streams)"
        try execute(in: directory.path + "/queue.db", "DELETE FROM rows WHERE stream > \(first)")
        var salvage = try begin()
        try salvage.saved.connection.execute("DELETE FROM streams")
        #expect(try salvage.copy({ 1 << 20 }, whenAllIsCopied: {}) == .done(lost: 49))
        #expect(try salvage.saved.streams.all().count == 1)
    }

    @Test("A packet for which there is no room goes in parts only when a part fits")
    func brokenUp() throws {
        let sealed = try fill(packets: 1)
        var salvage = try begin()
        #expect(try salvage.copy({ 10_000 }, whenAllIsCopied: {}) == .noRoom)
        #expect(salvage.remainder.broken.isEmpty && salvage.remainder.phase == .packets)
        #expect(try rows(salvage) == 0)
        let room = rowRoom
        #expect(try salvage.copy({ room }, whenAllIsCopied: {}) == .done(lost: 0))
        #expect(salvage.remainder.broken == sealed.map(\.number))
        #expect(try rows(salvage) == 10 && salvage.saved.packets.all().isEmpty)
    }

    @Test("While logs can leave that make room, no packet is broken up")
    func notBrokenUp() throws {
        let sealed = try fill(packets: 2)
        var salvage = try begin()
        var rooms = [300_000]
        let room = rowRoom
        #expect(try salvage.copy({ rooms.popLast() ?? room }, whenAllIsCopied: {}) == .noRoom)
        #expect(salvage.remainder.broken.isEmpty)
        #expect(try salvage.saved.packets.all().map(\.number) == [sealed[0].number])
    }

    @Test(
        "Of a broken packet that its destination has stored nothing is copied any more",
        arguments: [0, 4]
    )
    func storedMeanwhile(copied: Int) throws {
        let packet = try fill(packets: 1, waiting: true)[0]
        let remainder: Remainder
        do {
            var salvage = try begin()
            // To break it up, and a row at a time.
            var rooms = [rowRoom, rowRoom] + Array(repeating: rowRoom, count: copied)
            #expect(try salvage.copy({ rooms.popLast() ?? 0 }, whenAllIsCopied: {}) == .noRoom)
            #expect(salvage.remainder.broken == [packet.number])
            remainder = salvage.remainder
            try salvage.saved.connection.finish()
        }
        let path = DataDirectory(path: directory.path).salvage
        let before: Ledger
        do {
            let (store, _) = try OpenStore.open(path, configuration, now: { .now }, handed: [])
            before = store.destinations.named("app").ledger
            #expect(before.queued == 200 && before.isClosed)
            let place = PacketPlace(stream: packet.streamID.number, rows: packet.rows)
            try store.acknowledgements.acknowledge(packet.number, at: place)
            try store.commit()
            #expect(store.destinations.named("app").ledger.delivered == 10 * Int64(copied))
            #expect(store.weight.rows == 0)
            try store.database.connection.finish()
        }
        let (connection, _) = try QueueDatabase.connect(path, configuration)
        let saved = try QueueDatabase(connection, path: path)
        let aside = try #require(directory.names.first { $0.hasSuffix(".db-unsaved") })
        var salvage = try salvage(
            "\(directory.path)/\(aside.dropLast("-unsaved".count))",
            into: saved,
            remainder
        )
        #expect(try salvage.copy({ 1 << 20 }, whenAllIsCopied: {}) == .done(lost: 0))
        let ledger = try #require(try saved.ledgers.all()["app"])
        #expect(ledger.delivered == 100 && ledger.queued == 100 && ledger.isClosed)
        #expect(try rows(salvage) == 10)
    }

    @Test("A name of which a crash or a power cut left a part behind is not taken again")
    func halfTaken() throws {
        for name in ["queue.db", "queue.db-wal", "queue.corrupt-20260102030405.db-wal"] {
            let descriptor = open("\(directory.path)/\(name)", O_CREAT | O_WRONLY, 0o600)
            try #require(descriptor >= 0)
            close(descriptor)
        }

        let time = WallTime(seconds: 1_767_323_045)
        let aside = try DataDirectory(path: directory.path).linkAside(time)

        #expect(aside == "\(directory.path)/queue.corrupt-20260102030405-2.db")
        #expect(directory.names.contains("queue.corrupt-20260102030405-2.db-wal"))
    }
}

/// What a salvage leaves that was killed.
@Suite(.timeLimit(.minutes(10))) struct SalvageLeftoverTests {
    let directory = TemporaryDirectory()

    private var data: DataDirectory { DataDirectory(path: directory.path) }
    private var database: String { directory.path + "/queue.db" }

    private var names: [String] { directory.names.filter { $0.hasPrefix("queue.corrupt-") } }
    private var copies: [String] { names.filter { $0.hasSuffix(".db") } }

    /// A queue of 300 logs, closed in good order.
    private func fill() throws {
        let store = try directory.queue()
        defer { store.close() }
        for row in 0..<30 {
            #expect(store.store(Batch(logs(row * 10..<row * 10 + 10))) == .stored)
        }
    }

    private func damageLedger() throws {
        try execute(in: database, "UPDATE ledger SET delivered = -1")
    }

    @Test("A start removes what a killed salvage left, and its own copy is the only one")
    func killedBeforeTheEnd() throws {
        try fill()
        try damageLedger()
        for second in 0..<5 {
            _ = try data.linkAside(WallTime(seconds: 1_767_323_045 + Int64(second)))
        }
        for name in ["queue.salvage.db-wal", "queue.salvage.db-shm"] {
            writeFile("\(directory.path)/\(name)", [1, 2, 3])
        }
        #expect(copies.count == 5 && names.count == 10)
        let store = try directory.queue()
        #expect(store.status.salvages == 1 && store.status.ledger.queued == 300)
        #expect(copies.count == 1 && store.status.damagedCopies == 1)
        #expect(!names.contains { $0.hasSuffix("-unsaved") })
        #expect(!directory.names.contains { $0.hasPrefix("queue.salvage") })
    }

    @Test("The same of a damaged log, and of one that is alone", arguments: [false, true])
    func killedWithLog(isAlone: Bool) throws {
        let copy = try directory.fillLog()
        let log = copy.path + "/queue.db-wal"
        var bytes = readFile(log)
        bytes[32 + 5 * 8216 + 500] ^= 1
        writeFile(log, bytes)
        if isAlone { writeFile(copy.path + "/queue.db", []) }
        let aside = try DataDirectory(path: copy.path).linkAside(WallTime(seconds: 1_767_323_045))
        #expect(copy.names.contains { $0.hasSuffix(".log") })
        let store = try copy.queue()
        #expect(store.status.salvages == 1)
        #expect(!copy.names.contains { "\(copy.path)/\($0)".hasPrefix(aside.dropLast(3)) })
        #expect(copy.names.count { $0.hasPrefix("queue.corrupt-") && $0.hasSuffix(".db") } == 1)
    }

    @Test("A mark whose files a kill has left without names goes")
    func markAlone() throws {
        try fill()
        writeFile(directory.path + "/queue.corrupt-20260102030405.db-unsaved", [])
        let store = try directory.queue()
        #expect(names.isEmpty && store.status.ledger.queued == 300)
    }

    @Test(
        "A copy that is another file than the database or its log stays",
        arguments: ["queue.corrupt-20260102030405.db", "queue.corrupt-20260102030405.db-wal"]
    )
    func otherFiles(name: String) throws {
        try fill()
        let aside = try data.linkAside(WallTime(seconds: 1_767_323_045))
        let path = "\(directory.path)/\(name)"
        unlink(path)
        writeFile(path, [1, 2, 3])
        let before = names
        _ = try directory.queue()
        #expect(names == before && readFile(path) == [1, 2, 3])
        #expect(copies.contains { "\(directory.path)/\($0)" == aside })
    }

    @Test("A copy that a restored backup made of a second name goes")
    func copiedFiles() throws {
        try fill()
        let aside = try data.linkAside(WallTime(seconds: 1_767_323_045))
        for path in [aside, aside + "-wal"] where access(path, F_OK) == 0 {
            let bytes = readFile(path)
            unlink(path)
            writeFile(path, bytes)
        }
        let store = try directory.queue()
        #expect(copies.isEmpty && store.status.ledger.queued == 300)
    }

    /// A name that leads to itself: each look at it fails, and not because nothing is there.
    private func makeUnanswered(_ name: String) {
        let path = "\(directory.path)/\(name)"
        unlink(path)
        #expect(symlink(path, path) == 0)
    }

    @Test(
        "A copy of which the disk says nothing stays",
        arguments: [".db", ".db-wal", ".log"]
    )
    func unansweredCopy(end: String) throws {
        try fill()
        let aside = try data.linkAside(WallTime(seconds: 1_767_323_045))
        makeUnanswered("queue.corrupt-20260102030405\(end)")
        let before = names
        try data.settleSalvage()
        #expect(names == before && before.contains { aside.hasSuffix("/\($0)") })
    }

    @Test("A copy of whose mark the disk says nothing is not deleted")
    func unansweredMark() throws {
        writeFile(directory.path + "/queue.corrupt-20260102030405.db", [1])
        makeUnanswered("queue.corrupt-20260102030405.db-unsaved")
        #expect(data.removeDamagedCopies(keeping: 0, atMost: 1, inUse: []).isEmpty)
    }

    @Test("A database of which the disk says nothing is not replaced by half a copy")
    func unansweredDatabase() throws {
        makeUnanswered("queue.db")
        writeFile(directory.path + "/queue.salvage.db", [1, 2, 3])
        #expect(throws: QueueError.self) { try data.settleSalvage() }
        #expect(Set(directory.names).isSuperset(of: ["queue.db", "queue.salvage.db"]))
    }

    @Test("While only the new database is there, the copy is no leftover")
    func killedAtTheEnd() throws {
        try fill()
        _ = try data.linkAside(WallTime(seconds: 1_767_323_045))
        let before = names
        writeFile(directory.path + "/queue.salvage.db", readFile(database))
        unlink(database)
        let store = try directory.queue()
        #expect(names == before && store.status.ledger.queued == 300)
    }

    @Test("The bound on copies holds after a kill between a salvage and their removal")
    func boundAtStart() throws {
        try fill()
        for second in 0..<5 {
            let aside = "\(directory.path)/queue.corrupt-2026010203040\(second).db"
            writeFile(aside, [1, 2, 3])
        }
        let store = try directory.queue()
        #expect(copies.count == DataDirectory.damagedCopiesMax)
        #expect(store.status.damagedCopies == DataDirectory.damagedCopiesMax)
    }
}
