import Logs
import Queue
import SQLite
import Synchronization
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct BoundsTests {
    let directory = TemporaryDirectory()

    @Test("A full queue refuses, and takes again what was refused once something left")
    func bytes() throws {
        let store = try directory.queue { $0.bytesMax = 20_000 }
        let consumer = Consumer(store)
        var stored = 0
        while store.store(Batch(logs([stored], filling: 500))) == .stored { stored += 1 }
        #expect(store.store(Batch(logs([stored], filling: 500))) == .refused(.full))
        #expect(store.admission == .full)
        #expect(store.status.bytes <= 20_000)
        #expect(store.status.ledger.accepted == Int64(stored))

        store.end(consumer.sealed(), .stored)
        store.wait { $0.admission == .open }
        #expect(store.store(Batch(logs([stored]))) == .stored)
    }

    @Test("The journal says once that the queue is full, what to do, and when it is not any more")
    func announcement() throws {
        let lines = Awaited<String>()
        let store = try directory.queue(journal: lines.journal()) { $0.bytesMax = 20_000 }
        let consumer = Consumer(store)
        for _ in 0..<5 {
            while store.store(Batch(logs([1], filling: 500))) == .stored {}
            store.end(consumer.sealed(), .stored)
            store.wait { $0.admission == .open }
        }
        store.close()
        let said = lines.take(lines.count)
        #expect(said.count == 2)
        #expect(said[0].contains("queue.max_bytes") && said[0].contains("20000"))
        #expect(said[0].contains("warn") && said[1].contains("takes batches again"))
    }

    @Test("Batches of one call are stored all or none")
    func allOrNone() throws {
        let store = try directory.queue { $0.bytesMax = 20_000 }
        let small = Batch(logs(0..<1))
        let large = Batch(stream: .named("b"), logs: logs(1..<2, filling: 30_000))
        #expect(store.store(small, large) == .refused(.full))
        #expect(store.status.ledger.accepted == 0)
        #expect(store.store(small) == .stored)
    }

    @Test("Too many different streams are refused, empty ones do not count")
    func streams() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.streamsMax = 5
        configuration.destinations["other"] = nil
        configuration.tuning.idleStreams = 2
        let store = try directory.open(configuration)
        let consumer = Consumer(store)
        for round in 0..<4 {
            for name in 0..<5 {
                let batch = Batch(stream: .named("\(round)-\(name)"), logs: logs([name]))
                #expect(store.store(batch) == .stored)
            }
            let one = Batch(stream: .named("one more"), logs: logs([9]))
            #expect(store.store(one) == .refused(.tooManyStreams))
            store.flush("app")
            for packet in consumer.packets(5) { store.end(packet, .stored) }
            store.wait { $0.rows == 0 }
        }
        #expect(store.status.streams == 0)
    }

    @Test(
        "Streams count with their tags: while they wait, in the queue, after a restart, and at rest"
    )
    func streamBytes() throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.bytesMax = 1_000_000
        configuration.tuning.idleStreamBytes = 200_000
        let store = try DurableQueue(configuration, journal: .silent)
        let large = String(repeating: "t", count: 10_000)
        var stored = 0
        var outcome = AppendOutcome.stored
        while stored < 1000 {
            outcome = store.store(Batch(stream: .named("\(stored)\(large)"), logs: logs([stored])))
            guard outcome == .stored else { break }
            stored += 1
        }
        #expect(outcome == .refused(.full))
        #expect((80...99).contains(stored))
        let bytes = store.status.bytes
        #expect(bytes > stored * 10_000 && bytes <= 1_000_000)
        store.close()

        let again = try DurableQueue(configuration, journal: .silent)
        #expect(again.status.bytes == bytes)
        let consumer = Consumer(again)
        again.flush("app")
        for packet in consumer.packets(stored) { again.end(packet, .stored) }
        again.wait { $0.rows == 0 }
        #expect(again.status.bytes == 0)
        again.close()
        let connection = try Connection(directory.path + "/queue.db", .readWrite)
        #expect(try connection.integer("SELECT sum(length(trailer)) FROM streams") <= 200_000)
        #expect(try connection.integer("SELECT count(*) FROM streams") > 10)
    }

    @Test("Tags count as waiting bytes: many tiny batches with large tags are refused")
    func waitingStreams() throws {
        let store = try directory.queue { $0.tuning.waitingBytesMax = 100_000 }
        let answers = Awaited<AppendOutcome>()
        let posted = Awaited<Void>()
        store.append([Batch(logs([0]))]) { _ in _ = posted.take(1) }
        let large = String(repeating: "t", count: 10_000)
        for number in 0..<20 {
            let batch = Batch(stream: .named("\(number)\(large)"), logs: logs([number]))
            store.append([batch]) { answers.put($0) }
        }
        posted.put(())
        #expect(answers.take(20).contains(.refused(.full)))
        store.wait { $0.waitingBytes == 0 }
    }

    @Test("Batches above the bound of waiting bytes are refused")
    func waiting() throws {
        let store = try directory.queue { $0.tuning.waitingBytesMax = 10_000 }
        let answers = Awaited<AppendOutcome>()
        // The first answer holds the queue's thread until everything else was posted.
        let posted = Awaited<Void>()
        store.append([Batch(logs([0]))]) { _ in _ = posted.take(1) }
        for number in 0..<20 {
            let batch = Batch(logs([number], filling: 1000))
            store.append([batch]) { answers.put($0) }
        }
        posted.put(())
        let outcomes = answers.take(20)
        #expect(outcomes.contains(.stored))
        #expect(outcomes.contains(.refused(.full)))
        store.wait { $0.waitingBytes == 0 }
    }

    @Test("A file system with less free space than asked for is full")
    func freeSpace() throws {
        let store = try directory.queue { $0.freeBytesMin = .max }
        #expect(store.admission == .diskFull)
        #expect(store.store(Batch(logs([1]))) == .refused(.diskFull))
    }

    @Test("Batches posted before the close are stored, later ones are refused")
    func closing() throws {
        let store = try directory.queue()
        let answers = Awaited<AppendOutcome>()
        for number in 0..<100 {
            store.append([Batch(logs([number]))]) { answers.put($0) }
        }
        store.close()
        #expect(answers.take(100).allSatisfy { $0 == .stored })
        #expect(store.admission == .stopping)
        #expect(store.store(Batch(logs([1]))) == .refused(.stopping))
        #expect(directory.names == ["queue.db", "sluice.lock"])

        let again = try directory.queue()
        #expect(again.status.ledger.queued == 100)
    }

    @Test("Every call gets one answer while the queue is closed by another thread")
    func closingRace() throws {
        for _ in 0..<20 {
            let store = try directory.queue()
            let answers = Awaited<AppendOutcome>()
            let poster = try Worker("poster") {
                for number in 0..<200 {
                    let batch = Batch(logs([number]))
                    store.append([batch]) { answers.put($0) }
                }
            }
            store.close()
            poster.join()
            #expect(answers.take(200).allSatisfy { $0 == .stored || $0 == .refused(.stopping) })
            #expect(answers.count == 0)
        }
    }

    @Test("Logs older than allowed expire, those that delivery holds when they come back")
    func expiry() throws {
        let clock = ManualClock()
        let store = try directory.queue(clock: clock.queueClock) { $0.ageMax = .seconds(60) }
        let consumer = Consumer(store)
        _ = store.store(Batch(logs(0..<10)))
        let sealed = consumer.sealed()
        _ = store.store(Batch(logs(10..<30)))
        clock.advance(.seconds(50))
        _ = store.store(Batch(logs(30..<35)))
        clock.advance(.seconds(20))
        store.wait { $0.ledger.expired == 20 }
        #expect(store.status.ledger.queued == 15)
        #expect(store.status.ledger.isClosed)
        #expect(throws: QueueError.self) { try store.contents(of: sealed) }
        store.wait { $0.ledger.expired == 30 }
        #expect(store.status.ledger.queued == 5 && store.status.ledger.isClosed)
        store.flush("app")
        #expect(try consumer.packets(1).map(store.contents) == [Array(30..<35)])
    }
}
