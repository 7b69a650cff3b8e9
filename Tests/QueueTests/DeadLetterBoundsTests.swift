import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct DeadLetterBoundsTests {
    let directory = TemporaryDirectory()
    private let now = UInt32(WallTime.now.seconds)

    private func dead(_ numbers: Range<Int>, filling: Int = 400) -> Batch {
        .dead(timed(numbers, at: now, filling: filling))
    }

    private func fill(_ store: DurableQueue) -> (stored: Int, refusal: AppendOutcome) {
        var stored = 0
        while true {
            let outcome = store.store(dead(stored..<stored + 1))
            guard outcome == .stored else { return (stored, outcome) }
            stored += 1
        }
    }

    @Test("Dead letters fill the queue, and a replay needs no additional room")
    func full() throws {
        let store = try directory.queue { $0.bytesMax = 40_000 }
        let (stored, refusal) = fill(store)
        #expect(refusal == .refused(.full))
        #expect(stored > 10 && store.status.bytes <= 40_000)
        #expect(store.replaying(.matching(.init())).changed == stored)
        let sls = FakeSLS(store) { _ in false }
        try sls.run()
        #expect(try sls.numbers.sorted() == Array(0..<stored))
        #expect(store.status.bytes == 0 && store.store(dead(0..<1)) == .stored)
    }

    @Test("Dead letters count in their destination's own bound and leave room for others")
    func destinationFull() throws {
        let store = try directory.queue { $0.destinations["app"]?.bytesMax = 40_000 }
        #expect(fill(store).refusal == .refused(.destinationFull))
        let other = Batch(stream: .named("a", destination: "other"), logs: logs(0..<10))
        #expect(store.store(other) == .stored)
    }

    @Test(
        "Text that cannot be read becomes none beyond an eighth of the queue, or of the destination's bound"
    )
    func unreadable() throws {
        for (own, whole) in [(nil, 40_000), (40_000, 4_000_000)] as [(Int?, Int)] {
            let directory = TemporaryDirectory()
            let store = try directory.queue {
                $0.bytesMax = whole
                $0.destinations["app"]?.bytesMax = own
            }
            #expect(store.keepsUnreadable(for: "app") && store.keepsUnreadable(for: "none"))
            var stored = 0
            while store.status.bytes < 5_000 {
                #expect(store.keepsUnreadable(for: "app"), "\(store.status.bytes) bytes")
                #expect(store.store(dead(stored..<stored + 1)) == .stored)
                stored += 1
            }
            #expect(!store.keepsUnreadable(for: "app"))
            #expect(store.keepsUnreadable(for: "other") == (own != nil))
            // What an operator's own rules set aside is taken as before.
            #expect(store.store(dead(stored..<stored + 1)) == .stored)
        }
    }

    @Test("A replay or an edit that finds no room says so, and nothing is changed")
    func noRoom() throws {
        let store = try directory.queue {
            $0.bytesMax = 60_000
            $0.streamsMax = 1
        }
        _ = store.store(dead(0..<5))
        let letters = try store.letters()
        // The only stream that may have logs is another one.
        #expect(store.store(Batch(stream: .named("b"), logs: logs(0..<1))) == .stored)
        let change = store.replaying(.matching(.init()))
        #expect(change.changed == 0 && change.end == .refused(.tooManyStreams))
        #expect(store.status.ledger.dead == 5 && store.status.ledger.isClosed)
        let text = hex(randomBytes(50_000), upper: false)
        let edit = DeadLetterEdit(fields: [("text", text)])
        #expect(store.replacing(letters[0].id, with: edit) == .refused(.full))
        #expect(try store.deadLetter(letters[0].id)?.log == letters[0].log)
    }

    @Test("A queue over its bound lets no more logs die until there is room")
    func dyingWaits() throws {
        let lines = Awaited<String>()
        let store = try directory.queue(journal: lines.journal(.warning)) { $0.bytesMax = 20_000 }
        // Alike, they compress well together and badly alone.
        let logs = timed(0..<100, at: now, filling: 300)
        #expect(store.store(Batch(logs)) == .refused(.full))
        for start in stride(from: 0, to: 100, by: 10) {
            let logs = timed(start..<start + 10, at: now, filling: 300)
            #expect(store.store(Batch(logs)) == .stored)
        }
        let consumer = Consumer(store)
        store.flush("app")
        store.request(1000, for: "app")
        while store.status.isolationsWaiting == 0 {
            store.settle()
            while consumer.waiting > 0 {
                store.end(consumer.next()[0], .isolate(FakeSLS.reason))
            }
        }
        store.settle()
        // Halves compress less well than the whole, but only deaths are held back: there are few
        // halves.
        #expect(store.status.ledger.queued > 0)
        #expect(store.status.destinations["app"]?.deadBytes ?? 0 < 25_000)
        let said = lines.take(lines.count)
        #expect(said.contains { $0.contains("no room for dead letters") })
        while store.status.ledger.queued > 0 {
            _ = store.purging(.matching(.init()))
            store.settle()
            while consumer.waiting > 0 {
                store.end(consumer.next()[0], .isolate(FakeSLS.reason))
            }
        }
        #expect(store.status.isolationsWaiting == 0 && store.status.ledger.isClosed)
    }

    @Test(
        "Late logs die only while dead letters have room; the others wait, and none is lost",
        arguments: [true, false]
    )
    func lateLogsWait(isOwnBound: Bool) throws {
        var configuration = QueueConfiguration.small(directory.path)
        configuration.destinations["app"]?.lateLogs = .deadLetter
        if isOwnBound {
            configuration.destinations["app"]?.bytesMax = 40_000
        } else {
            configuration.bytesMax = 40_000
        }
        let store = try directory.open(configuration)
        // Alike, they compress well together; as letters they would take five times the bound.
        let old = now - 8 * 86_400
        for start in stride(from: 0, to: 500, by: 50) {
            let logs = timed(start..<start + 50, at: old)
            #expect(store.store(Batch(logs)) == .stored)
        }
        let sls = FakeSLS(store) { [now] in $0.time.seconds < now - 7 * 86_400 }
        var purged: [Int] = []
        while store.status.ledger.queued > 0 {
            _ = try sls.step()
            #expect(store.status.bytes <= 45_000)
            guard store.status.isolationsWaiting > 0 else { continue }
            let dead = try store.deadNumbers()
            #expect(!dead.isEmpty)
            purged += dead
            #expect(store.purging(.matching(.init())).changed == dead.count)
        }
        purged += try store.deadNumbers()
        #expect(purged.sorted() == Array(0..<500))
        #expect(sls.requests < 100 && store.status.ledger.isClosed)
    }

    @Test("Dead letters that wait to be stored count as the rows that they will be")
    func waiting() throws {
        let store = try directory.queue { $0.tuning.waitingBytesMax = 100_000 }
        let answers = Awaited<AppendOutcome>()
        let posted = Awaited<Void>()
        store.append([Batch(logs([0]))]) { _ in _ = posted.take(1) }
        // Their logs alone have half of what may wait.
        for number in 0..<10 {
            store.append([dead(number * 100..<number * 100 + 100, filling: 20)]) { answers.put($0) }
        }
        posted.put(())
        #expect(answers.take(10).contains(.refused(.full)))
        store.wait { $0.waitingBytes == 0 }
    }

    // MARK: - Age

    private let clock = SteppedClock()

    private func open(at seconds: Int64, _ journal: Journal = .silent) throws -> DurableQueue {
        clock.set(seconds)
        var configuration = QueueConfiguration.small(directory.path)
        configuration.deadLetterAgeMax = .seconds(60)
        return try directory.open(configuration, journal: journal, clock: clock.queueClock)
    }

    /// Two rounds of housekeeping have looked for what is too old.
    private func doHousekeeping(_ store: DurableQueue) {
        // Housekeeping runs every 20 ms and signals nothing.
        _ = eventually(within: .milliseconds(60)) { false }
        store.settle()
    }

    @Test("Dead letters that are too old expire, and the journal tells how many")
    func age() throws {
        let lines = Awaited<String>()
        let store = try open(at: 1_800_000_000, lines.journal(.warning))
        _ = store.store(dead(0..<1500))
        clock.wait(40)
        _ = store.store(dead(1500..<1510))
        doHousekeeping(store)
        #expect(store.status.ledger.expired == 0)
        clock.wait(30)
        store.wait { $0.ledger.expired == 1500 }
        #expect(store.status.ledger.dead == 10 && store.status.ledger.isClosed)
        #expect(try store.deadNumbers() == Array(1500..<1510))
        let said = lines.take(1)
        #expect(said[0].contains("dead letters expired"))
    }

    @Test("A changed age applies at once to logs and dead letters")
    func newAge() throws {
        let store = try open(at: 1_800_000_000)
        _ = store.store(dead(0..<10), Batch(timed(10..<15, at: now)))
        clock.wait(30)
        doHousekeeping(store)
        #expect(store.status.ledger.expired == 0)
        let bounds = QueueBounds(
            bytesMax: 1 << 20,
            ageMax: .seconds(3600),
            freeBytesMin: 0,
            deadLetterAgeMax: .seconds(20)
        )
        store.apply([:], bounds)
        store.wait { $0.ledger.expired == 10 }
        #expect(store.status.bytesMax == 1 << 20 && store.status.ledger.queued == 5)
        var shorter = bounds
        shorter.ageMax = .seconds(20)
        store.apply([:], shorter)
        store.wait { $0.ledger.expired == 15 }
        #expect(store.status.ledger.isClosed && store.status.bytes == 0)
    }

    @Test(
        "Stamps of a clock that was wrong count from this start",
        arguments: [100, 4_000_000_000]
    )
    func earlierLife(wrong: Int64) throws {
        let before = try open(at: wrong)
        _ = before.store(dead(0..<10))
        before.close()
        let store = try open(at: 1_800_000_000)
        doHousekeeping(store)
        #expect(store.status.ledger.expired == 0)
        clock.wait(70)
        store.wait { $0.ledger.expired == 10 }
    }

    @Test(
        "A step of the clock expires nothing and holds nothing back",
        arguments: [
            (100, 1_800_000_000), (1_800_000_000, 1_900_000_000), (1_900_000_000, 1_800_000_000),
        ]
    )
    func steps(from: Int64, to: Int64) throws {
        let store = try open(at: from)
        _ = store.store(dead(0..<10))
        clock.step(to: to)
        while clock.isStepping { store.settle() }
        doHousekeeping(store)
        #expect(store.status.ledger.expired == 0)
        clock.wait(70)
        store.wait { $0.ledger.expired == 10 }
    }
}
