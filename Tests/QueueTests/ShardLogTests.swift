import CommitLog
import Glibc
import Logs
import Queue
import SQLite
import System
import TestCommitLog
import TestSupport
import Testing

@testable import SQLiteQueue

/// Queues whose transactions go to a commit log first. Each queue here has a directory of its own,
/// so what it knows of an earlier one comes from the log.
@Suite final class ShardLogTests {
    let log = MemoryCommitLog()
    let directory = TemporaryDirectory()
    private var places = 0

    /// A directory inside, of one queue.
    func place() -> String {
        places += 1
        let path = "\(directory.path)/\(places)"
        mkdir(path, 0o700)
        return path
    }

    func queue(
        on log: MemoryCommitLog? = nil,
        in place: String? = nil,
        journal: Journal = .silent,
        wait: Duration = .seconds(5),
        _ change: (inout QueueConfiguration) -> Void = { _ in }
    ) throws -> DurableQueue {
        var configuration = QueueConfiguration.small(place ?? self.place())
        configuration.commitLog = log ?? self.log
        configuration.commitRetries.timeout = wait
        configuration.commitRetries.pauseMin = .milliseconds(1)
        change(&configuration)
        return try directory.open(configuration, journal: journal)
    }

    /// The numbers of all logs that wait, in order.
    func contents(of store: DurableQueue) throws -> [Int] {
        let left = Int(store.status.destinations["app"]?.ledger.queued ?? 0)
        store.flush("app")
        let consumer = Consumer(store)
        var found: [Int] = []
        while found.count < left {
            for packet in consumer.packets(1) { found += try store.contents(of: packet) }
        }
        return found.sorted()
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
        let sealed = Consumer(dead).sealed()
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
    }

    @Test("A queue that is fenced out tells it once, and takes back what delivery holds")
    func loss() throws {
        let losses = SharedValue(0)
        let old = try queue { $0.whenLost = { losses.change { $0 += 1 } } }
        let recalled = SharedValue<Set<PacketID>>([])
        #expect(old.store(batch(1...5)) == .stored)
        old.flush("app")
        let consumer = Consumer(old) { news in recalled.change { $0.formUnion(news.recalled) } }
        let held = consumer.packets(1)[0]
        let new = try queue()
        #expect(old.store(batch(6...9)) == .refused(.failing))
        #expect(recalled.wait { $0 == [held.id] })
        #expect { try old.blocks(of: held) } throws: { ($0 as? QueueError)?.kind == .withdrawn }
        old.end(held, .stored)
        #expect(old.store(batch(6...9)) == .refused(.failing))
        #expect(losses.now == 1)
        #expect(new.status.destinations["app"]?.ledger.queued == 5)
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
    }

    @Test("While an append takes long, other batches are refused, and it is settled afterwards")
    func slowAppends() throws {
        let recorder = JournalRecorder()
        let store = try queue(journal: recorder.journal, wait: .seconds(60)) {
            $0.commitRetries.slowAfter = .zero
            $0.commitRetries.pauseMin = .milliseconds(5)
        }
        log.plan(Array(repeating: .lost, count: 100_000))
        let answer = Awaited<AppendOutcome>()
        store.append([batch(1...5)]) { answer.put($0) }
        #expect(eventually { store.admission == .failing })
        #expect(store.status.problem?.kind == .unreachable)
        #expect(store.status.commitLog?.epoch == 1)
        #expect(answer.count == 0)
        log.plan([])
        #expect(answer.takeOne(within: .seconds(20)) == .stored)
        #expect(store.admission == .open)
        #expect(store.status.problem == nil)
        #expect(store.status.commitLog?.retries ?? 0 > 0)
        #expect(store.store(batch(6...9)) == .stored)
        #expect(recorder.count(of: "commit log is slow; batches are refused meanwhile") == 1)
        #expect(recorder.count(of: "commit log answers again") == 1)
    }

    @Test("A log that has lost its end, or all of it, is not gone on with")
    func emptiedLog() throws {
        let directory = place()
        let store = try queue(in: directory)
        #expect(store.store(batch(1...5)) == .stored)
        store.close()
        let error = #expect(throws: QueueError.self) {
            try queue(on: MemoryCommitLog(), in: directory)
        }
        #expect(error?.kind == .commitLogDamaged)
        #expect(error?.description.contains("remove \(directory)/scratch.position") == true)
        let shorter = log.copy()
        shorter.damage { $0.removeLast() }
        #expect(throws: QueueError.self) {
            try queue(on: MemoryCommitLog(shorter.entries), in: directory)
        }
        // With its log it goes on.
        let again = try queue(in: directory)
        #expect(again.status.destinations["app"]?.ledger.queued == 5)
        again.close()
        // Elsewhere an empty log is a new one.
        try queue(on: MemoryCommitLog()).close()
    }

    @Test("A log that was trimmed and has no whole base is not taken for a new one")
    func lostBase() throws {
        let directory = place()
        let store = try queue(in: directory)
        #expect(store.store(batch(1...5)) == .stored)
        store.close()
        try queue(in: directory).close()
        let kinds = try log.entries.map { try CommitEntry($0.bytes).kind }
        let epoch = try #require(kinds.lastIndex(of: .epoch))
        #expect(!kinds[epoch...].contains(.changes))
        let rest = log.copy()
        rest.damage { $0.removeFirst(epoch) }
        #expect {
            try queue(on: rest, in: directory)
        } throws: { error in
            (error as? QueueError)?.kind == .commitLogDamaged
                && "\(error)".contains("has no whole base")
        }
        // The copy, which may be the last one, is as it was.
        #expect(try StoredLogs.ofQueue(in: directory, isScratch: true)?.queued == 5)
        // Nothing was written to it.
        #expect(rest.entries.count == kinds.count - epoch)
    }

    @Test("Without room in the log the queue says that the disk is full")
    func noRoom() throws {
        let store = try queue()
        log.plan([.noRoom])
        #expect(store.store(batch(1...5)) == .refused(.diskFull))
        store.wait { _ in store.admission == .open }
        #expect(store.store(batch(1...5)) == .stored)
    }

    @Test("A damaged scratch database is restored from the log, and nothing is lost")
    func damagedScratch() throws {
        let directory = place()
        let store = try queue(in: directory)
        #expect(store.store(batch(1...5)) == .stored)
        let other = try Connection(directory + "/scratch.db", .scratch)
        try other.execute("DROP TABLE rows")
        #expect(store.store(batch(6...9)) == .refused(.failing))
        store.wait { _ in store.admission == .open }
        #expect(store.store(batch(6...9)) == .stored)
        #expect(store.status.destinations["app"]?.ledger.accepted == 9)
        #expect(try contents(of: store) == Array(1...9))
        #expect(store.status.salvages == 0)
    }

    @Test(
        "A scratch database that vanishes is restored, and does not become the log's new base",
        arguments: [true, false]
    )
    func vanishedScratch(isEmptied: Bool) throws {
        let directory = place()
        let store = try queue(in: directory, wait: .zero)
        #expect(store.store(batch(1...5)) == .stored)
        for suffix in ["", "-wal", "-shm"] { unlink(directory + "/scratch.db" + suffix) }
        if isEmptied { close(open(directory + "/scratch.db", O_CREAT | O_WRONLY, 0o600)) }
        log.plan([.lost])
        #expect(store.store(batch(6...9)) == .refused(.failing))
        store.wait { _ in store.admission == .open }
        #expect(store.store(batch(6...9)) == .stored)
        #expect(try contents(of: store) == Array(1...9))
        store.close()
        let heir = try queue()
        #expect(heir.status.destinations["app"]?.ledger.accepted == 9)
    }

    @Test("A gateway that could not reach the log does not take its shard back from its heir")
    func heirs() throws {
        var retries = CommitWriter.RetryPolicy()
        retries.timeout = .zero
        func shard(_ place: String) throws -> (ShardLog, DataDirectory, QueueConfiguration) {
            var configuration = QueueConfiguration.small(place)
            configuration.commitLog = log
            configuration.commitRetries = retries
            return (ShardLog(log, configuration), configuration.dataDirectory, configuration)
        }
        let (old, oldDirectory, configuration) = try shard(place())
        try old.prepare(oldDirectory, configuration)
        log.plan([.lost])
        #expect(throws: SQLiteError.self) { try old.publish([1]) }
        // Alone it comes back, as often as it must.
        try old.prepare(oldDirectory, configuration)
        log.plan([.lost])
        #expect(throws: SQLiteError.self) { try old.publish([1]) }
        let (heir, heirDirectory, _) = try shard(place())
        try heir.prepare(heirDirectory, configuration)
        for _ in 0..<2 {
            #expect { try old.prepare(oldDirectory, configuration) } throws: {
                ($0 as? SQLiteError)?.kind == .fenced
            }
        }
        #expect(old.isFenced)
        try heir.publish([2])
        #expect(heir.isOpen && !heir.isFenced)
    }

    @Test("An outage of the log costs no restore: only what is new is read")
    func outage() throws {
        let store = try queue(wait: .zero)
        for number in 0..<20 {
            let numbers = number * 100...number * 100 + 49
            #expect(store.store(Batch(logs(numbers, noise: 400))) == .stored)
        }
        log.plan([.lost])
        log.failReads(3)
        let before = log.readBytes
        #expect(store.store(batch(1...5)) == .refused(.failing))
        store.wait { _ in store.admission == .open }
        #expect(store.store(batch(1...5)) == .stored)
        #expect(log.readBytes - before < 64 << 10)
    }

    /// A log with the entries of `log`, as a version with older tables wrote them. It is never
    /// trimmed.
    private func logOfOlderTables() throws -> MemoryCommitLog {
        let older = try log.entries.map { stored in
            var entry = try CommitEntry(stored.bytes)
            entry.schema -= 1
            return NumberedEntry(number: stored.number, bytes: entry.bytes)
        }
        let both = MemoryCommitLog(older)
        both.keepAll()
        return both
    }

    /// One log of about four megabytes that cannot be compressed.
    private var largeLog: Batch {
        var large = EncodedLogs()
        let noise = (0..<300_000).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }
        large.append(time: LogTime(seconds: 1), fields: [("noise", noise.joined())])
        return Batch(large)
    }

    @Test(
        "A base of many bytes needs no directory for temporary files, as a container may have none",
        // SQLite takes only a directory that the user may write to.
        .enabled(if: getuid() == 0)
    )
    func noTemporaryFiles() throws {
        let store = try queue()
        #expect(store.store(batch(1...5), largeLog) == .stored)
        store.close()
        let connection = try Connection(":memory:", .scratch)
        // Nothing can be written there.
        try connection.execute("PRAGMA temp_store_directory = '/proc'")
        defer { try? connection.execute("PRAGMA temp_store_directory = ''") }
        // A log of older tables gets a base at once.
        let place = place()
        let second = try queue(on: try logOfOlderTables(), in: place)
        #expect(second.status.destinations["app"]?.ledger.accepted == 6)
        #expect(fileNames(in: place).filter { $0.hasPrefix("base") }.isEmpty)
    }

    @Test("A log is restored wherever a trim has stopped, and trimmed to its end")
    func interruptedTrim() throws {
        let store = try queue()
        #expect(store.store(batch(1...5)) == .stored)
        #expect(store.store(largeLog) == .stored)
        store.close()
        let both = try logOfOlderTables()
        let second = try queue(on: both)
        #expect(second.store(batch(6...9)) == .stored)
        second.close()
        let entries = both.entries
        let base = try #require(
            try entries.lastIndex { try CommitEntry($0.bytes).kind == .baseBegins }
        )
        #expect(try entries[..<base].contains { try CommitEntry($0.bytes).part > 1 })
        for first in 0...base {
            let trimmed = MemoryCommitLog(Array(entries[first...]))
            let again = try queue(on: trimmed)
            #expect(again.status.destinations["app"]?.ledger.accepted == 10)
            again.wait { _ in trimmed.entries.first?.number == entries[base].number }
            again.close()
        }
    }

    @Test("Commits of newer tables are applied to a base of such tables, not to an older one")
    func otherSchemas() throws {
        let store = try queue()
        #expect(store.store(batch(1...5)) == .stored)
        store.close()
        // An older base and its commits, as if trimming came late: the first life's entries with
        // another schema.
        let both = try logOfOlderTables()
        // The next version brings a base of its own tables.
        let first = try queue(on: both)
        #expect(first.store(batch(6...9)) == .stored)
        first.close()
        let schemas = try both.entries.map { try CommitEntry($0.bytes).schema }
        #expect(Set(schemas).count == 2)
        let second = try queue(on: both)
        #expect(second.status.destinations["app"]?.ledger.accepted == 9)
        #expect(try contents(of: second) == Array(1...9))
        second.close()
        // Changes of older tables after a base of newer ones fit nothing.
        let mixed = both.copy()
        mixed.damage { entries in
            guard let last = entries.last, let entry = try? CommitEntry(last.bytes) else { return }
            let id = AppendID(writer: 9, epoch: entry.id.epoch, commit: entry.id.commit + 1)
            let older = CommitEntry(.changes, schema: entry.schema - 1, id: id, body: [1])
            entries.append(NumberedEntry(number: last.number + 1, bytes: older.bytes))
        }
        #expect { try queue(on: mixed) } throws: { ($0 as? QueueError)?.kind == .commitLogDamaged }
    }

    @Test("Whichever entry was the last one, what was answered before is there and counted")
    func crashPoints() throws {
        // A trim comes after a whole base, which some of the logs below do not have.
        log.keepAll()
        let store = try queue()
        let consumer = Consumer(store)
        /// By the log's length when the answer came: logs accepted and logs delivered.
        var answered: [(entries: Int, accepted: Int, delivered: Int)] = []
        for number in 1...12 {
            let logs = logs(number * 10...number * 10 + 9, noise: 3000)
            let some = Batch(stream: .named("\(number % 2)"), logs: logs)
            #expect(store.store(some) == .stored)
            var delivered = answered.last?.delivered ?? 0
            answered.append((log.entries.count, number * 10, delivered))
            guard number.isMultiple(of: 3) else { continue }
            store.flush("app")
            for packet in consumer.packets(2) {
                store.end(packet, .stored)
                delivered += packet.logCount
            }
            store.wait { Int($0.destinations["app"]?.ledger.delivered ?? 0) == delivered }
            answered.append((log.entries.count, number * 10, delivered))
        }
        store.close()
        let whole = log.entries
        for count in 0...whole.count {
            let heir = try queue(on: MemoryCommitLog(Array(whole[..<count])))
            let promised = answered.last { $0.entries <= count }
            let ledger = heir.status.destinations["app"]?.ledger ?? Ledger()
            #expect(ledger.accepted >= Int64(promised?.accepted ?? 0), "\(count) entries")
            #expect(ledger.delivered >= Int64(promised?.delivered ?? 0), "\(count) entries")
            #expect(ledger.isClosed && heir.status.repairedLogs == 0, "\(count) entries")
            let left = try contents(of: heir)
            #expect(left.count == Int(ledger.queued) && Set(left).count == left.count)
            heir.close()
        }
    }

    @Test("A running queue appends bases, and a restore from one has every log")
    func bases() throws {
        let store = try queue { $0.tuning.baseLogBytes = 64 << 10 }
        let first = try #require(log.entries.first).number
        var count = 0
        let stays = Batch(stream: .named("stays"), logs: logs(1...1500, noise: 1000))
        #expect(store.store(stays) == .stored)
        let consumer = Consumer(store)
        while log.entries.first?.number == first, count < 3000 {
            count += 1
            let some = Batch(stream: .named("goes"), logs: logs(10_000...10_020, noise: 400))
            #expect(store.store(some) == .stored)
            store.flush("app")
            for packet in consumer.packets(1) where packet.stream == .named("goes") {
                store.end(packet, .stored)
            }
        }
        #expect(count < 3000, "a base makes what lies before it dispensable")
        let kinds = try log.entries.map { try CommitEntry($0.bytes).kind }
        #expect(kinds.first == .baseBegins && kinds.count { $0 == .baseChunk } >= 2)
        let end = try #require(kinds.firstIndex(of: .baseEnds))
        #expect(kinds[..<end].contains(.changes), "the queue goes on meanwhile")
        let heir = try queue(on: log.copy())
        #expect(heir.status.destinations["app"]?.ledger == store.status.destinations["app"]?.ledger)
        #expect(heir.status.repairedLogs == 0 && heir.status.salvages == 0)
        #expect(try contents(of: heir).filter { $0 <= 1500 } == Array(1...1500))
    }

    @Test("A log with a bound has room for bases and acknowledgements, however much passes")
    func bound() throws {
        var rules = DestinationRules()
        rules.overflow = .dropOldest
        log.limit(to: 5 << 20)
        let store = try queue {
            $0.bytesMax = 1 << 20
            $0.destinations["app"] = rules
            $0.tuning.baseLogBytes = 256 << 10
            $0.tuning.spareBytes = 256 << 10
            $0.commitLogBytesMax = 5 << 20
        }
        for round in 0..<150 {
            // Bases that are given up stay in the log until another one is whole.
            if round % 25 == 20 { log.plan([.lost, nil]) }
            let numbers = round * 50 + 1...round * 50 + 50
            while case .refused(let reason) = store.store(Batch(logs(numbers, noise: 4000))) {
                #expect(reason == .diskFull || reason == .failing, "round \(round)")
                // A full queue makes room for new logs.
                #expect(eventually { [.open, .full].contains(store.admission) }, "\(round)")
            }
        }
        // A base may be under way, without which the log is nearly full.
        store.wait { $0.problem == nil }
        #expect(log.entries.reduce(0) { $0 + $1.bytes.count } < 5 << 20)
    }

    @Test(
        "A log with a larger base than its bound allows gets another one when logs were delivered"
    )
    func loweredBound() throws {
        let store = try queue()
        for round in 0..<40 {
            let numbers = round * 50 + 1...round * 50 + 50
            #expect(store.store(Batch(logs(numbers, noise: 2000))) == .stored)
        }
        store.close()
        // A start with newer tables begins with a base.
        let second = try queue(on: logOfOlderTables()) {
            $0.tuning.spareBytes = 64 << 10
            $0.tuning.baseLogBytes = 256 << 10
            $0.commitLogBytesMax = 2 << 20
        }
        #expect(second.admission == .diskFull)
        second.flush("app")
        let consumer = Consumer(second)
        while second.status.ledger.queued > 0 {
            for packet in consumer.packets(1) { second.end(packet, .stored) }
            second.wait { $0.ledger.queued == 0 || $0.packets == 0 }
        }
        #expect(eventually { second.admission == .open })
        #expect(second.store(batch(1...5)) == .stored)
    }

    @Test("A log that cannot be trimmed now is trimmed later")
    func trimming() throws {
        log.failTrims(3)
        let store = try queue()
        #expect(store.store(batch(1...5)) == .stored)
        // The first epoch lies before the base.
        store.wait { _ in log.entries.first?.number == 2 }
    }

    @Test("A log that is full because it cannot be trimmed says so")
    func untrimmed() throws {
        log.failTrims(.max)
        let store = try queue {
            $0.tuning.baseLogBytes = 64 << 10
            $0.commitLogBytesMax = 2 << 20
        }
        var count = 0
        while store.admission == .open, count < 1000 {
            count += 1
            _ = store.store(Batch(logs(1...20, noise: 400)))
        }
        #expect(store.admission == .diskFull)
        store.wait { $0.problem != nil }
        let problem = try #require(store.status.problem)
        #expect(problem.kind == .commitLogFull)
        #expect(problem.description.contains("cannot be trimmed"), "\(problem)")
    }

    @Test("A log gets more room before it is full; without it, it has room for acknowledgements")
    func moreRoom() throws {
        log.failTrims(.max)
        log.limit(to: 2 << 20)
        log.offerRoom(upTo: 8 << 20)
        let store = try queue {
            $0.tuning.baseLogBytes = 64 << 10
            $0.commitLogBytesMax = 2 << 20
        }
        var count = 0
        while store.admission == .open, count < 3000 {
            count += 1
            _ = store.store(Batch(logs(1...20, noise: 400)))
        }
        #expect(store.admission == .diskFull)
        // The database has half of the 8 MiB for its next base.
        #expect(log.entries.reduce(0) { $0 + $1.bytes.count } > 3 << 20)
        let isTold = { (status: QueueStatus) in
            status.problem?.description.contains("gets no more room") ?? false
        }
        // It is trimmed again, so that is no reason.
        log.failTrims(0)
        #expect(eventually { isTold(store.status) } || store.admission == .open)
        store.flush("app")
        let consumer = Consumer(store)
        while store.status.ledger.queued > 0 {
            for packet in consumer.packets(1) { store.end(packet, .stored) }
            store.wait { $0.ledger.queued == 0 || $0.packets == 0 }
        }
        #expect(eventually { store.admission == .open })
    }

    @Test("A log that is full to the last byte goes on once its servers have room")
    func fullLog() throws {
        let store = try queue {
            $0.tuning.baseLogBytes = 64 << 10
            $0.commitLogBytesMax = 64 << 20
        }
        #expect(store.store(batch(1...5)) == .stored)
        // Less than its owner counts on.
        log.limit(to: 0)
        #expect(store.store(batch(6...9)) != .stored)
        #expect(eventually { store.status.problem?.kind == .commitLogFull })
        log.offerRoom(upTo: 1 << 30)
        #expect(eventually { store.admission == .open })
        #expect(store.store(batch(10...12)) == .stored)
    }

    @Test("A log with a hole, or of a newer version, is not taken for a shorter one")
    func unreadableLogs() throws {
        let store = try queue()
        for number in 1...5 { #expect(store.store(batch(number...number)) == .stored) }
        store.close()
        let holed = log.copy()
        holed.damage { $0.remove(at: $0.count - 2) }
        #expect { try queue(on: holed) } throws: { ($0 as? QueueError)?.kind == .commitLogDamaged }
        let newer = log.copy()
        newer.damage { entries in
            guard let last = entries.last, var entry = try? CommitEntry(last.bytes) else { return }
            entry.schema += 1
            entries[entries.count - 1] = NumberedEntry(number: last.number, bytes: entry.bytes)
        }
        #expect { try queue(on: newer) } throws: { ($0 as? QueueError)?.kind == .newerSchema }
    }
}
