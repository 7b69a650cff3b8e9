import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct SalvageTests {
    let directory = TemporaryDirectory()

    private var database: String { directory.path + "/queue.db" }

    /// A queue of 200 rows in two streams, with three packets sealed, closed in good order.
    private func fill() throws -> (packets: [SealedPacket], ledger: Ledger) {
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 100, age: .seconds(3600))
        let store = try DurableQueue(.small(directory.path, packets: limits), journal: .silent)
        defer { store.close() }
        for row in 0..<200 {
            let numbers = row * 10..<row * 10 + 10
            let batch = Batch(
                stream: .named(row % 2 == 0 ? "even" : "odd"),
                logs: logs(numbers, filling: 700)
            )
            #expect(store.store(batch) == .stored)
        }
        let consumer = Consumer(store)
        let packets = consumer.packets(4)
        store.end(packets[0], .stored)
        store.wait { $0.ledger.delivered == 100 }
        return (Array(packets[1...]), store.status.ledger)
    }

    /// Takes everything out that can be read; returns the numbers of all logs.
    private func drain(_ store: DurableQueue) -> [Int] {
        let consumer = Consumer(store)
        store.request(1000, for: "app")
        var found: [Int] = []
        while store.status.ledger.queued > 0 {
            // Again each time: a store that was opened anew in between has forgotten it.
            store.flush("app")
            guard let packet = consumer.nextSoon() else { continue }
            guard let contents = contents(of: packet, in: store) else { continue }
            found += contents
            store.end(packet, .stored)
        }
        return found
    }

    /// Nil when the packet is void.
    private func contents(of packet: SealedPacket, in store: DurableQueue) -> [Int]? {
        while true {
            do throws(QueueError) {
                let blocks = try store.blocks(of: packet)
                return try? numbers(blocks)
            } catch {
                if error.kind == .corrupt { return nil }
                // Closed for a repair.
                usleep(500)
            }
        }
    }

    @Test("Flipped bytes anywhere cost no more than what they hit, and every log is accounted for")
    func flippedBytes() throws {
        let (_, ledger) = try fill()
        let intact = readFile(database)
        var generator = SeededGenerator(seed: 7)
        for round in 0..<30 {
            var bytes = intact
            // The first page decides whether it is a database at all; that is another test.
            for _ in 0...(round % 6) {
                let place = Int.random(in: 8192..<bytes.count, using: &generator)
                let length = Int.random(in: 1...4000, using: &generator)
                for index in place..<min(bytes.count, place + length) {
                    bytes[index] = UInt8.random(in: 0...255, using: &generator)
                }
            }
            let copy = TemporaryDirectory()
            writeFile(copy.path + "/queue.db", bytes)
            let store = try DurableQueue(.small(copy.path), journal: .silent)
            defer { store.close() }
            #expect(store.status.ledger.isClosed)
            let before = store.status
            let found = drain(store)
            let after = store.status.ledger
            #expect(after.isClosed)
            // Damage that is only found while packets are out may cost their seals and
            // acknowledgements, and then their logs go out once more.
            let isFoundLate =
                store.status.salvages > before.salvages || store.status.failures > before.failures
            #expect(Set(found).count == found.count || isFoundLate)
            // Only a ledger that was hit itself begins anew.
            if after.accepted == ledger.accepted {
                #expect(after.delivered <= ledger.delivered + Int64(found.count))
            } else {
                #expect(after.accepted == Int64(found.count) + after.discarded)
            }
        }
    }

    /// SQLite reports a page number behind the largest one that a file may have as a full disk.
    @Test("A damaged page that looks like a full disk is repaired")
    func looksLikeFullDisk() throws {
        do {
            let store = try directory.queue()
            defer { store.close() }
            for row in 0..<3 {
                let numbers = row * 10..<row * 10 + 10
                #expect(store.store(Batch(logs(numbers, noise: 2000))) == .stored)
            }
        }
        let connection = try Connection(database, .readOnly)
        let overflow = try connection.integer(
            "SELECT pageno FROM dbstat WHERE name = 'rows' AND pagetype = 'overflow' LIMIT 1"
        )
        let leaf = try connection.integer(
            "SELECT pageno FROM dbstat WHERE name = 'rows' AND pagetype = 'leaf' LIMIT 1"
        )
        try connection.finish()
        var bytes = readFile(database)
        let page = Int(leaf - 1) * 8192..<Int(leaf) * 8192
        let number = withUnsafeBytes(of: UInt32(overflow).bigEndian, Array.init)
        let pointer = try #require(bytes[page].firstRange(of: number))
        bytes[pointer.lowerBound] = 0xFF
        writeFile(database, bytes)
        let store = try directory.queue()
        let found = drain(store)
        #expect(Set(found).count == 20 && store.status.salvages == 1)
        #expect(store.status.ledger.isClosed && store.status.ledger.discarded == 10)
    }

    @Test("A file that was cut off is salvaged up to the cut", arguments: [0.2, 0.5, 0.9, 0.999])
    func truncated(part: Double) throws {
        let (_, ledger) = try fill()
        let bytes = readFile(database)
        writeFile(database, Array(bytes.prefix(Int(Double(bytes.count) * part))))
        let store = try directory.queue()
        #expect(store.status.salvages == 1)
        #expect(directory.names.contains { $0.hasPrefix("queue.corrupt-") })
        #expect(!directory.names.contains { $0.hasPrefix("queue.salvage") })
        #expect(store.status.ledger.isClosed)
        #expect(store.status.ledger.accepted == ledger.accepted || part < 0.5)
        #expect(store.store(Batch(logs([1]))) == .stored)
    }

    @Test("A file that is no database is moved aside, and the gateway starts")
    func notADatabase() throws {
        _ = try fill()
        let rubbish = [UInt8](repeating: 0x55, count: 100_000)
        writeFile(database, rubbish)
        let lines = Awaited<String>()
        let store = try directory.open(.small(directory.path), journal: lines.journal())
        #expect(store.status.ledger.accepted == 0)
        #expect(store.status.salvages == 1)
        let kept = try #require(directory.names.first { $0.hasPrefix("queue.corrupt-") })
        #expect(readFile(directory.path + "/" + kept) == rubbish)
        #expect(lines.take(1)[0].contains(kept))
    }

    @Test(
        "Numbers that cannot be are found at the start, and no log is lost but those of their row",
        arguments: [
            ("ledger SET accepted", 0), ("ledger SET delivered", 0), ("ledger SET queued", 0),
            ("ledger SET dead", 0), ("ledger SET expired", 0), ("ledger SET discarded", 0),
            ("rows SET logs", 10), ("rows SET raw", 10), ("rows SET size", 10),
            ("rows SET stream", 10), ("rows SET id", 10),
            ("packets SET number", 0), ("packets SET stream", 0), ("packets SET first_row", 0),
            ("packets SET last_row", 0), ("packets SET logs", 0), ("packets SET raw", 0),
            ("packets SET pack", 0), ("packets SET lane_key", 0), ("packets SET lane_sequence", 0),
            ("streams SET next_pack", 0),
            ("settings SET value", 0), ("repeats SET number", 0), ("repeats SET logs", 0),
        ]
    )
    func implausible(change: (column: String, lost: Int64)) throws {
        let (_, ledger) = try fill()
        do {
            let store = try directory.queue()
            defer { store.close() }
            store.append([], identity: .of(1)) { _ in }
        }
        for value in [Int64.max, .min, -1, 1 << 60] {
            try implausible(change.column, value, lost: change.lost, of: ledger)
        }
    }

    private func implausible(
        _ column: String,
        _ value: Int64,
        lost: Int64,
        of ledger: Ledger
    ) throws {
        let copy = directory.copy()
        let table = column.prefix { $0 != " " }
        let key = ["ledger": "destination", "settings": "name"][String(table)] ?? "rowid"
        try execute(
            in: copy.path + "/queue.db",
            """
            UPDATE \(column) = \(value)
            WHERE \(key) = (SELECT \(key) FROM \(table) ORDER BY 1 DESC LIMIT 1)
            """
        )
        let store = try copy.queue()
        defer { store.close() }
        let found = store.status.ledger
        let comment = Comment("\(column) = \(value)")
        #expect(found.isClosed, comment)
        #expect(found.queued >= ledger.queued - lost, comment)
        #expect(found.accepted == ledger.accepted, comment)
        #expect(found.delivered == ledger.delivered, comment)
        let numbers = drain(store)
        #expect(numbers.count >= Int(ledger.queued - lost), comment)
        #expect(store.status.ledger.isClosed)
        #expect(store.status.bytes == 0, comment)
        #expect(store.store(Batch(logs([1]))) == .stored)
    }

    @Test(
        "A stream that changed on the disk costs its own logs, and none gets other tags or another logstore",
        arguments: ["logstore = 'other'", "destination = 'apq'", "trailer = x'1a0161'"]
    )
    func changedStream(change: String) throws {
        let (_, ledger) = try fill()
        do {
            try execute(
                in: database,
                "UPDATE streams SET \(change) WHERE id = (SELECT min(id) FROM streams)"
            )
        }
        let store = try directory.queue()
        #expect(store.status.salvages == 1)
        let found = store.status.ledger
        #expect(found.isClosed && found.accepted == ledger.accepted)
        #expect(found.discarded > 0 && found.queued > 0)
        #expect(drain(store).count == Int(ledger.queued - found.discarded))
    }

    @Test("A packet that lost a row goes out under a new id, the others as they were")
    func packetsAfterDamage() throws {
        let (sealed, ledger) = try fill()
        // The row is gone from the index as well, so the start finds out.
        try execute(in: database, "DELETE FROM rows WHERE id = \(sealed[0].rows.lowerBound)")
        let store = try directory.queue()
        #expect(store.status.salvages == 1)
        #expect(store.status.lostLogs == 10)
        #expect(store.status.ledger.discarded == ledger.discarded + 10)
        #expect(store.status.ledger.isClosed)
        let packets = Consumer(store).packets(3)
        #expect(packets[..<2].map(\.packID) == sealed[1...].map(\.packID))
        #expect(packets[..<2].map(\.number) == sealed[1...].map(\.number))
        #expect(!sealed.map(\.packID).contains(packets[2].packID))
        #expect(packets[2].stream == sealed[0].stream)
        #expect(try store.contents(of: packets[2]).count == 90)
    }

    @Test("A payload that changed on the disk is found when it is read, and only its row is lost")
    func changedPayload() throws {
        let (sealed, ledger) = try fill()
        try execute(
            in: database,
            "UPDATE rows SET payload = zeroblob(size) WHERE id = \(sealed[1].rows.lowerBound)"
        )
        let store = try directory.queue()
        let consumer = Consumer(store)
        let packets = consumer.packets(3)
        #expect(try store.contents(of: packets[0]).count == 100)
        #expect(try store.contents(of: packets[2]).count == 100)
        let error = #expect(throws: QueueError.self) { try store.blocks(of: packets[1]) }
        #expect(error?.kind == .corrupt)
        let mended = consumer.packets(1)[0]
        #expect(mended.packID != packets[1].packID)
        #expect(try store.contents(of: mended).count == 90)
        #expect(store.status.ledger.discarded == ledger.discarded + 10)
        #expect(store.status.lostLogs == 10)
        store.end(packets[1], .stored)
        store.end(mended, .stored)
        store.wait { $0.ledger.delivered == ledger.delivered + 90 }
        #expect(store.status.ledger.isClosed)
    }

    @Test("Requests are remembered across a salvage as far as they can be read")
    func repeats() throws {
        let first = try directory.queue()
        for number in 0..<500 { #expect(first.send(number * 1000) == .stored) }
        first.close()
        let connection = try Connection(database, .readWrite)
        let page = try connection.integer(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'repeats'"
        )
        try connection.execute(
            """
            UPDATE repeats SET receipt = x'0d0a' WHERE number = (SELECT max(number) FROM repeats);
            UPDATE ledger SET delivered = -1
            """
        )
        try connection.finish()
        let lines = Awaited<String>()
        let journal = lines.journal(.warning)
        func said() -> String { lines.take(lines.count).joined() }
        let second = try DurableQueue(.small(directory.path), journal: journal)
        #expect(second.status.salvages == 1)
        #expect(said().contains("no longer remembered"))
        for number in 0..<499 {
            #expect(second.send(number * 1000) == BatchIdentity.of(number * 1000).repeated)
        }
        #expect(second.send(499_000) == .stored)
        second.close()

        var bytes = readFile(database)
        let start = Int(page - 1) * 8192
        for index in start..<start + 8192 { bytes[index] = 0x55 }
        writeFile(database, bytes)
        let third = try directory.open(.small(directory.path), journal: journal)
        #expect(third.status.salvages == 1)
        #expect(said().contains("no longer remembered"))
        #expect(third.status.ledger.queued == 5010)
        #expect(third.send(0) == .stored)
    }

    @Test("A salvage that a crash interrupted begins again, one that was complete is finished")
    func interrupted() throws {
        let (_, ledger) = try fill()
        writeFile(directory.path + "/queue.salvage.db", [1, 2, 3])
        do {
            let store = try DurableQueue(.small(directory.path), journal: .silent)
            defer { store.close() }
            #expect(store.status.ledger == ledger)
            #expect(!directory.names.contains("queue.salvage.db"))
        }
        rename(database, directory.path + "/queue.salvage.db")
        let store = try directory.queue()
        #expect(store.status.ledger == ledger)
        #expect(!directory.names.contains("queue.salvage.db"))
    }
}

/// SplitMix64: the same numbers each time.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
