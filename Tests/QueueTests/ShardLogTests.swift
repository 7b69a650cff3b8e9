import CommitLog
import Queue
import SQLite
import System
import TestCommitLog
import TestSupport
import Testing

@testable import SQLiteQueue

/// Queues whose transactions go to a commit log first. Each queue here has a directory of its own, so what it knows of
/// an earlier one comes from the log.
@Suite final class ShardLogTests {
    let log = MemoryCommitLog()
    private var directories: [TemporaryDirectory] = []

    func place() -> String {
        directories.append(TemporaryDirectory())
        return directories[directories.count - 1].path
    }

    func queue(
        on log: MemoryCommitLog? = nil,
        in directory: String? = nil,
        wait: Duration = .seconds(5)
    ) throws -> DurableQueue {
        var configuration = QueueConfiguration.small(directory ?? place())
        configuration.commitLog = log ?? self.log
        configuration.commitPatience.commitWait = wait
        configuration.commitPatience.pause = .milliseconds(1)
        return try DurableQueue(configuration, journal: .silent)
    }

    func batch(_ numbers: ClosedRange<Int>, _ stream: String = "a") -> Batch {
        Batch(stream: .named(stream), logs: logs(numbers))
    }

    @Test("Each table has a key, so that its changes are recorded")
    func keys() throws {
        let connection = try Connection(":memory:", .scratch)
        for migration in QueueSchema.migrations { try connection.execute(migration) }
        let tables = try connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        var count = 0
        while try tables.step() {
            count += 1
            let name = tables.text(0)
            let keys = try connection.integer(
                "SELECT count(*) FROM pragma_table_info('\(name)') WHERE pk > 0"
            )
            #expect(keys > 0, "\(name)")
        }
        #expect(count >= 10)
    }

    @Test("Another gateway goes on with the logs, packets and ledger of a dead one")
    func takeover() throws {
        let dead = try queue()
        #expect(dead.store(batch(1...10), batch(11...15, "b")) == .stored)
        dead.flush("app")
        let sealed = Consumer(dead).packets(1)[0]
        #expect(dead.store(batch(16...20)) == .stored)
        let before = dead.status
        // What the log has at this moment is all that there will be.
        let left = log.copy()
        let heir = try queue(on: left)
        #expect(heir.status.destinations["app"]?.ledger == before.destinations["app"]?.ledger)
        #expect(heir.status.bytes == before.bytes && heir.status.repairedLogs == 0)
        heir.flush("app")
        let packets = Consumer(heir).packets(3)
        let again = try #require(packets.first { $0.packID == sealed.packID })
        #expect(again.isRecovered && again.rows == sealed.rows && again.number == sealed.number)
        #expect(try packets.flatMap { try heir.contents(of: $0) }.sorted() == Array(1...20))
        heir.close()
        dead.close()
    }

    @Test(
        "A queue that is fenced out answers with a failure, and the logs are not its own any more"
    )
    func fence() throws {
        let old = try queue()
        #expect(old.store(batch(1...5)) == .stored)
        let new = try queue()
        #expect(old.store(batch(6...9)) == .refused(.failing))
        old.wait { $0.problem?.kind == .fenced }
        // It tries to open the store again meanwhile, and must not take the shard back by that.
        for number in 10..<60 {
            #expect(new.store(batch(number...number)) == .stored)
            #expect(old.store(batch(6...9)) == .refused(.failing))
        }
        #expect(new.status.destinations["app"]?.ledger.accepted == 55)
        old.close()
        new.close()
    }

    @Test(
        "What is not settled in time is refused, and settled before the next commit",
        arguments: [true, false]
    )
    func unsettled(comesThrough: Bool) throws {
        let store = try queue(wait: .zero)
        #expect(store.store(batch(1...5)) == .stored)
        log.plan([comesThrough ? .unanswered : .lost])
        #expect(store.store(batch(6...9)) == .refused(.failing))
        store.wait { _ in store.admission == .open }
        #expect(store.store(batch(10...12)) == .stored)
        let expected: Int64 = comesThrough ? 12 : 8
        #expect(store.status.destinations["app"]?.ledger.accepted == expected)
        store.close()
        let heir = try queue()
        #expect(heir.status.destinations["app"]?.ledger.queued == expected)
        #expect(heir.status.repairedLogs == 0)
        heir.close()
    }

    @Test("Without room in the log the queue says that the disk is full")
    func noRoom() throws {
        let store = try queue()
        log.plan([.noRoom])
        #expect(store.store(batch(1...5)) == .refused(.diskFull))
        store.wait { _ in store.admission == .open }
        #expect(store.store(batch(1...5)) == .stored)
        store.close()
    }

    @Test("A damaged scratch database is restored from the log, and nothing is lost")
    func damagedScratch() throws {
        let directory = place()
        let store = try queue(in: directory)
        #expect(store.store(batch(1...5)) == .stored)
        let owner = try Connection(directory + "/queue.db", .scratch)
        try owner.execute("UPDATE ledger SET accepted = 77; DELETE FROM rows; DELETE FROM streams")
        _ = store.store(batch(6...9))
        store.wait { $0.destinations["app"]?.ledger.accepted ?? 0 >= 5 && store.admission == .open }
        store.close()
        let heir = try queue()
        #expect(heir.status.lostLogs == 0 && heir.status.salvages == 0)
        heir.close()
    }

    @Test("The log gets another base while the queue goes on, and does not grow without one")
    func bases() throws {
        var configuration = QueueConfiguration.small(place())
        configuration.commitLog = log
        configuration.tuning.baseLogBytes = 64 << 10
        configuration.tuning.givenBackBytes = 1 << 20
        let store = try DurableQueue(configuration, journal: .silent)
        let first = try #require(log.entries.first).number
        var count = 0
        // Some logs stay, so that the base has something to say.
        #expect(
            store.store(Batch(stream: .named("stays"), logs: logs(1...50, noise: 200))) == .stored
        )
        let consumer = Consumer(store)
        while log.entries.first?.number == first, count < 2000 {
            count += 1
            let some = Batch(stream: .named("goes"), logs: logs(1000...1020, noise: 400))
            #expect(store.store(some) == .stored)
            store.flush("app")
            for packet in consumer.packets(1) { store.acknowledge(packet) }
        }
        #expect(count < 2000, "a base makes what lies before it dispensable")
        #expect(store.store(batch(51...60)) == .stored)
        let before = store.status
        let heir = try queue(on: log.copy())
        #expect(
            heir.status.destinations["app"]?.ledger.accepted
                == before.destinations["app"]?.ledger.accepted
        )
        #expect(heir.status.repairedLogs == 0 && heir.status.salvages == 0)
        heir.close()
        store.close()
    }

    @Test("A log with a hole, or of a newer version, is not taken for a shorter one")
    func unreadableLogs() throws {
        let store = try queue()
        for number in 1...5 { #expect(store.store(batch(number...number)) == .stored) }
        store.close()
        let holed = log.copy()
        holed.damage { $0.remove(at: $0.count - 2) }
        #expect { try queue(on: holed) } throws: {
            ($0 as? QueueError)?.kind == .corrupt
        }
        let newer = log.copy()
        newer.damage { entries in
            guard let last = entries.last, var entry = try? CommitEntry(last.bytes) else { return }
            entry.schema += 1
            entries[entries.count - 1] = NumberedEntry(number: last.number, bytes: entry.bytes)
        }
        #expect { try queue(on: newer) } throws: {
            ($0 as? QueueError)?.kind == .newerSchema
        }
    }
}
