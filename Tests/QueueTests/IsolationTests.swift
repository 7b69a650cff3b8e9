import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct IsolationTests {
    let directory = TemporaryDirectory()

    private var seconds: UInt32 { UInt32(WallTime.now.seconds) }

    private func open(_ rowBytes: Int = 64 << 10, in path: String? = nil) throws -> DurableQueue {
        var configuration = QueueConfiguration.small(path ?? directory.path)
        configuration.tuning.rowBytes = rowBytes
        // A copy for a crash must not meet a checkpoint half-way.
        configuration.tuning.housekeeping = .seconds(3600)
        configuration.tuning.checkpointBytes = 64 << 20
        return try directory.open(configuration)
    }

    @Test(
        "A guilty log dies alone, the others are delivered once, after few requests",
        arguments: [64 << 10, 1000, 60],
        [[0], [511], [777], [0, 1023], [3, 4], [100, 200, 900]]
    )
    func guilty(rowBytes: Int, guilty: [Int]) throws {
        let store = try open(rowBytes)
        let logs = timed(0..<1024, at: seconds)
        #expect(store.store(Batch(logs)) == .stored)
        let sls = FakeSLS(store) { (try? guilty.contains(number($0))) ?? true }
        try sls.run()
        #expect(try sls.numbers.sorted() == (0..<1024).filter { !guilty.contains($0) })
        #expect(try store.deadNumbers().sorted() == guilty)
        // Rows are no exact halves, so the tree may be a little deeper than its ten levels.
        #expect(sls.requests <= guilty.count * 2 * 13 + 1)
        let ledger = store.status.ledger
        #expect(ledger.isClosed)
        #expect(ledger.dead == Int64(guilty.count))
        #expect(ledger.delivered == Int64(1024 - guilty.count))
        #expect(store.status.rows == 0)
        #expect(store.status.bytes == store.status.destinations["app"]?.deadBytes)
        #expect(store.status.isolations == sls.refusals)
    }

    @Test("If each log of a packet is refused, each becomes a dead letter with the reason")
    func allGuilty() throws {
        let store = try open(500)
        let before = WallTime.now
        let trailer = GroupTrailer(topic: "t", source: "s", tags: [("a", "b")])
        let key = StreamKey(destination: "app", logstore: "app-log", trailer: trailer)
        _ = store.store(Batch(stream: key, logs: timed(0..<100, at: seconds)))
        let sls = FakeSLS(store) { _ in true }
        try sls.run()
        #expect(sls.stored.isEmpty)
        let letters = try store.letters()
        #expect(try letters.map { try number(#require($0.content)) }.sorted() == Array(0..<100))
        for letter in letters {
            #expect(letter.reason == FakeSLS.reason)
            #expect(letter.stream == key)
            #expect(letter.received >= before && letter.died >= letter.received)
            #expect(letter.cost > 0)
        }
        #expect(store.status.ledger.dead == 100 && store.status.ledger.isClosed)
    }

    @Test("Pieces take turns with everything else of their outlet, the smallest first")
    func order() throws {
        let store = try open()
        let consumer = Consumer(store)
        _ = store.store(Batch(timed(0..<100, at: seconds)))
        let packet = consumer.sealed()
        for (stream, logs) in [("b", 100..<110), ("c", 110..<121)] {
            _ = store.store(Batch(stream: .named(stream), logs: timed(logs, at: seconds)))
        }
        store.flush("app")
        store.end(packet, .isolate(FakeSLS.reason))
        let half = consumer.packets(1)[0]
        store.end(half, .isolate(FakeSLS.reason))
        let rest = consumer.packets(5)
        #expect(rest.map(\.logCount) == [10, 25, 11, 25, 50])
        for piece in [rest[1], rest[3], rest[4]] {
            #expect(piece.oldest == packet.oldest)
            #expect(piece.packID != packet.packID)
            #expect(piece.stream == packet.stream)
        }
    }

    @Test("A device that sends nothing but bad logs holds up nobody else's", arguments: [0, 1])
    func badDevice(lanes: Int) throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations["app"]?.packet.logs = 10
        configuration.destinations["app"]?.lanes = lanes
        let store = try directory.open(configuration)
        let consumer = Consumer(store)
        var good = 0
        for round in 0..<60 {
            for stream in ["bad", "good"] {
                let numbers = round * 10..<round * 10 + 10
                _ = store.store(Batch(stream: .named(stream), logs: timed(numbers, at: seconds)))
            }
            let packet = consumer.packets(1, of: .named("app-log"))[0]
            if packet.stream.trailer.topic == "bad" {
                store.end(packet, .isolate(FakeSLS.reason))
            } else {
                good += 1
                store.end(packet, .stored)
            }
        }
        // Every other one is a piece, and of the rest every other one of the good stream.
        #expect(good >= 14)
    }

    @Test("Logs that wait behind a packet stay behind its pieces, and nothing is mixed up")
    func waitingBehind() throws {
        let store = try open()
        let consumer = Consumer(store)
        _ = store.store(Batch(timed(0..<7, at: seconds)))
        let packet = consumer.sealed()
        _ = store.store(Batch(timed(7..<20, at: seconds)))
        store.end(packet, .isolate(FakeSLS.reason))
        store.settle()
        let copy = directory.copy()
        let again = try open(in: copy.path)
        #expect(again.status.ledger == store.status.ledger)
        #expect(again.status.bytes == store.status.bytes)
        for store in [store, again] {
            let sls = FakeSLS(store) { _ in false }
            try sls.run()
            #expect(try sls.numbers.sorted() == Array(0..<20))
            #expect(store.status.bytes == 0)
        }
    }

    @Test("Killed after any step, no log is lost or sent twice", arguments: 0..<12)
    func killed(after steps: Int) throws {
        let guilty = [5, 77]
        let refuses = { (log: LogEntry) in (try? guilty.contains(number(log))) ?? true }
        let first = try open(300)
        _ = first.store(Batch(timed(0..<100, at: seconds)))
        let before = FakeSLS(first, refuses: refuses)
        for _ in 0..<steps { _ = try before.step() }
        let copy = directory.copy()
        first.close()
        let second = try open(in: copy.path)
        #expect(second.status.repairedLogs == 0 && second.status.ledger.isClosed)
        let after = FakeSLS(second, refuses: refuses)
        try after.run()
        let all = try before.numbers + after.numbers
        #expect(all.sorted() == (0..<100).filter { !guilty.contains($0) })
        #expect(try second.deadNumbers().sorted() == guilty)
        #expect(second.status.ledger.isClosed && second.status.rows == 0)
    }

    @Test("Rows whose numbers leave no room between them are cut as well")
    func tightNumbers() throws {
        let store = try open()
        _ = store.store(Batch(timed(0..<10, at: seconds)))
        _ = Consumer(store).sealed()
        for number in 10..<20 {
            _ = store.store(Batch(timed([number], at: seconds)))
        }
        store.close()
        // The rows behind move to where the first one's spare numbers are.
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        let least = try connection.integer("SELECT min(id) FROM rows")
        var rows: [StoredRow] = []
        let all = try connection.prepare(
            "SELECT \(StoredRow.columns) FROM rows WHERE id > \(least) ORDER BY id"
        )
        while try all.step() { rows.append(StoredRow(all)) }
        try connection.execute("DELETE FROM rows WHERE id > \(least)")
        let database = try QueueDatabase(connection, path: directory.path + "/queue.db")
        try database.write()
        for (index, row) in rows.enumerated() {
            let moved = RowRecord(
                id: least + 1 + Int64(index),
                logs: row.record.logs,
                raw: row.record.raw,
                size: row.record.size,
                received: row.record.received
            )
            try database.rows.add(moved, of: row.stream, replays: 0, row.payload)
        }
        try database.commit()
        try connection.finish()

        let again = try open()
        let sls = FakeSLS(again) { (try? number($0) == 3) ?? true }
        try sls.run()
        #expect(try sls.numbers.sorted() == (0..<20).filter { $0 != 3 })
        #expect(try again.deadNumbers() == [3])
        #expect(again.status.ledger.isClosed && again.status.rows == 0)
    }

    @Test("A row that changed on the disk is found by isolating it, and only its logs are lost")
    func damaged() throws {
        let store = try open(300)
        let consumer = Consumer(store)
        let logs = timed(0..<20, at: seconds)
        _ = store.store(Batch(logs))
        let packet = consumer.sealed()
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        try connection.execute(
            "UPDATE rows SET payload = zeroblob(size) WHERE id = \(packet.rows.lowerBound)"
        )
        store.end(packet, .isolate(FakeSLS.reason))
        let rest = consumer.packets(1)[0]
        #expect(rest.logCount < 20)
        store.settle()
        #expect(store.status.ledger.discarded == Int64(20 - rest.logCount))
        #expect(store.status.lostLogs == 20 - rest.logCount)
        #expect(store.status.ledger.isClosed)
    }

    @Test("Isolated twice, or isolated and acknowledged, a packet is taken apart once")
    func twice() throws {
        let store = try open()
        let consumer = Consumer(store)
        _ = store.store(Batch(timed(0..<4, at: seconds)))
        let packet = consumer.sealed()
        for _ in 0..<2 { store.end(packet, .isolate(FakeSLS.reason)) }
        let pieces = consumer.packets(2)
        #expect(pieces.map(\.logCount) == [2, 2])
        store.end(packet, .isolate(FakeSLS.reason))
        store.end(packet, .stored)
        store.end(pieces[0], .stored)
        store.end(pieces[0], .isolate(FakeSLS.reason))
        store.settle()
        #expect(store.status.ledger.delivered == 2 && store.status.ledger.queued == 2)
        #expect(store.status.packets == 1)
    }

    @Test("A discarded packet is gone, counted with its reason, and told of once")
    func discard() throws {
        let lines = Awaited<String>()
        let store = try directory.open(.small(directory.path), journal: lines.journal(.warning))
        let consumer = Consumer(store)
        let reason = DeathReason(code: "Unauthorized", message: "no", requestID: "A", status: 401)
        for number in 0..<3 {
            _ = store.store(Batch(timed([number], at: seconds)))
            store.end(consumer.sealed(), .discard(reason))
        }
        store.settle()
        let shown = try #require(store.status.destinations["app"])
        #expect(shown.ledger.discarded == 3 && shown.ledger.queued == 0)
        #expect(shown.refusedLogs == 3 && shown.lastRefusal == reason)
        #expect(store.status.rows == 0 && store.status.bytes == 0)
        let line = lines.take(1)[0]
        #expect(line.contains("Unauthorized") && line.contains("drop_unauthorized"))
        #expect(lines.count == 0)
    }
}
