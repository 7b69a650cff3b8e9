import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

// A disk fault affects the whole process. The tests of this suite run one after the other.
extension FailureTests {
    private func rollFault(_ generator: inout SeededGenerator) {
        let faults: [DiskFault] = [.full, .writeError, .syncError]
        let isFaulty = Int.random(in: 0..<4, using: &generator) == 0
        DiskFault.set(isFaulty ? faults[Int.random(in: 0..<3, using: &generator)] : .none)
    }

    @Test("Faults while packets are taken apart lose no log, and none dies or leaves twice")
    func faultsWhileIsolating() throws {
        let store = try open()
        var generator = SeededGenerator(seed: 5)
        let now = UInt32(WallTime.now.seconds)
        for start in stride(from: 0, to: 300, by: 30) {
            #expect(store.store(Batch(timed(start..<start + 30, at: now))) == .stored)
        }
        let guilty: Set<Int> = [0, 77, 78, 299]
        let consumer = Consumer(store)
        store.flush("app")
        store.request(4000, for: "app")
        var delivered: [Int] = []
        var failures = 0
        while store.status.ledger.queued > 0 {
            rollFault(&generator)
            store.settle()
            guard consumer.waiting > 0 else {
                heal(store)
                continue
            }
            let packet = consumer.next()[0]
            var blocks = try? store.blocks(of: packet)
            while blocks == nil {
                heal(store)
                blocks = try? store.blocks(of: packet)
            }
            let numbers = try entries(blocks ?? []).map(number)
            rollFault(&generator)
            if guilty.isDisjoint(with: numbers) {
                delivered += numbers
                store.end(packet, .stored)
            } else {
                store.end(packet, .isolate(FakeSLS.reason))
            }
            failures = store.status.failures
        }
        heal(store)
        #expect(failures > 3)
        #expect(delivered.sorted() == (0..<300).filter { !guilty.contains($0) })
        #expect(try store.deadNumbers().sorted() == guilty.sorted())
        #expect(store.status.ledger.isClosed && store.status.repairedLogs == 0)
        #expect(store.status.salvages == 0 && store.status.rows == 0)
    }

    @Test(
        "A change of dead letters that meets a fault is refused, and every letter is somewhere once"
    )
    func faultsWhileReplaying() throws {
        let store = try open()
        var generator = SeededGenerator(seed: 6)
        _ = store.store(.dead(timed(0..<3000, at: UInt32(WallTime.now.seconds))))
        var refusals = 0
        for round in 0..<40 {
            let ids = try store.letters().map(\.id).shuffled(using: &generator).prefix(50)
            rollFault(&generator)
            let selection = DeadLetterSelection.ids(Array(ids))
            let change =
                round.isMultiple(of: 2) ? store.replaying(selection) : store.purging(selection)
            if change.end != .complete { refusals += 1 }
            heal(store)
            let ledger = store.status.ledger
            #expect(ledger.dead + ledger.queued + ledger.discarded == 3000 && ledger.isClosed)
            let left = Set(try store.deadNumbers())
            #expect(left.count == ledger.dead)
        }
        #expect(refusals > 3 && refusals < 40)
        #expect(store.status.repairedLogs == 0)
        let sls = FakeSLS(store) { _ in false }
        try sls.run()
        let replayed = try sls.numbers
        #expect(Set(replayed).isDisjoint(with: try store.deadNumbers()))
        #expect(Set(replayed).count == replayed.count)
        #expect(replayed.count == store.status.ledger.delivered)
    }

    /// Whether a commit that failed is there is not known, and a number of a lane may hang on it.
    @Test("No number of a lane is used for two packets when commits fail", arguments: [21, 22, 23])
    func lanes(seed: UInt64) throws {
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 5, age: .milliseconds(1))
        var rules = DestinationRules(packet: limits)
        rules.lanes = 3
        let store = try open { $0.destinations = ["app": rules] }
        let consumer = Consumer(store, requesting: 4)
        var generator = SeededGenerator(seed: seed)
        var sent: [Lane: String] = [:]
        var held: [SealedPacket] = []
        func takeAll() throws {
            while consumer.waiting > 0 {
                let packet = consumer.next()[0]
                let lane = try #require(packet.lane)
                #expect(sent[lane] == nil || sent[lane] == packet.packID)
                #expect(!held.contains { $0.lane?.key == lane.key })
                sent[lane] = packet.packID
                held.append(packet)
            }
        }
        func giveBack() {
            guard let index = held.indices.randomElement(using: &generator) else { return }
            let packet = held.remove(at: index)
            let moves = Int.random(in: 0..<5, using: &generator) == 0
            store.end(packet, moves ? .relane : .stored)
            store.request(1, for: "app")
        }
        for number in 0..<300 {
            let faults: [DiskFault] = [.none, .none, .none, .writeError, .syncError]
            DiskFault.set(faults.randomElement(using: &generator) ?? .none)
            if number % 10 == 0 {
                heal(store)
            }
            _ = store.store(Batch(stream: .named("\(number % 3)"), logs: logs([number])))
            try takeAll()
            giveBack()
        }
        heal(store)
        while store.status.ledger.queued > 0 {
            store.flush("app")
            store.settle()
            try takeAll()
            giveBack()
        }
        #expect(sent.count > 50)
        #expect(store.status.failures > 10)
        #expect(store.status.relanes > 3)
        #expect(store.status.ledger.isClosed)
    }

    @Test("What a failed transaction would have lost is neither told nor counted")
    func lossesOnce() throws {
        DiskFault.set(.none)
        defer { DiskFault.set(.none) }
        var configuration = QueueConfiguration.small(path)
        configuration.ageMax = .seconds(60)
        configuration.tuning.housekeeping = .zero
        let clock = ManualClock()
        let lines = Awaited<String>()
        let journal = lines.journal(.warning)
        do {
            let store = try DurableQueue(configuration, journal: .silent, clock: clock.queueClock)
            _ = store.store(Batch(logs(0..<10)))
            _ = Consumer(store).sealed()
            store.close()
        }
        let handle = try QueueHandle(configuration)
        let owner = try QueueOwner(configuration, handle, clock: clock.queueClock, journal)
        clock.advance(.seconds(61))
        DiskFault.set(.writeError)
        owner.doHousekeeping(isQuiet: true)
        #expect(owner.store == nil)
        DiskFault.set(.none)
        #expect(reopens(owner))
        owner.doHousekeeping(isQuiet: true)
        #expect(owner.store?.destinations.named("app").ledger.expired == 10)
        let said = lines.take(2)
        #expect(said[0].contains("cannot be written"))
        #expect(said[1].contains("logs expired") && said[1].contains("\"logs\":10"))
    }

    @Test(
        "A request whose commit failed was not answered for, and is stored when it comes again",
        arguments: [DiskFault.full, .writeError]
    )
    func repeatsAfterFailure(fault: DiskFault) throws {
        let store = try open()
        #expect(store.send(1000) == .stored)
        DiskFault.set(fault)
        for _ in 0..<2 {
            guard case .refused = store.send(2000) else {
                Issue.record("stored on a disk that takes nothing")
                continue
            }
        }
        heal(store)
        #expect(store.send(1000) == BatchIdentity.of(1000).repeated)
        #expect(store.send(2000) == .stored)
        #expect(store.send(2000) == BatchIdentity.of(2000).repeated)
        #expect(store.status.ledger.accepted == 20)
    }

    @Test("Whether a commit that failed to sync is there or not, its logs are stored once")
    func repeatsAfterFailedSync() throws {
        let store = try open()
        var generator = SeededGenerator(seed: 5)
        for number in 0..<60 {
            if Int.random(in: 0..<3, using: &generator) == 0 { DiskFault.set(.syncError) }
            var outcome = store.send(number * 1000)
            while case .refused = outcome {
                heal(store)
                outcome = store.send(number * 1000)
            }
        }
        #expect(store.status.failures > 0)
        #expect(store.status.ledger.accepted == 600)
        #expect(store.status.repeats.known == 60)
    }

    @Test(
        "Requests that fill the disk with what is remembered leave room for delivery",
        .enabled(if: canMount, "needs the right to mount a small file system")
    )
    func repeatsFillTheDisk() throws {
        try #require(mount("tmpfs", directory.path, "tmpfs", 0, "size=12m") == 0)
        defer { umount(directory.path) }
        DiskFault.set(.none)
        var configuration = QueueConfiguration.small(directory.path + "/data")
        configuration.tuning.checkpointBytes = 4 << 20
        let store = try DurableQueue(configuration, journal: .silent)
        defer { store.close() }
        let answers = Awaited<AppendOutcome>()
        var sent = 0
        var isRefused = false
        while !isRefused, sent < 1_000_000 {
            for _ in 0..<500 {
                let batch = Batch(logs([sent], filling: 1))
                store.append([batch], identity: .of(sent * 1000)) { answers.put($0) }
                sent += 1
            }
            isRefused = answers.take(500).contains(.refused(.diskFull))
        }
        #expect(isRefused)
        #expect(store.status.problem == nil && store.status.failures == 0)
        try drain(store, Consumer(store))
        #expect(store.status.failures == 0)
        #expect(store.status.ledger.isClosed)
    }

    @Test(
        "A disk without room for a copy of an older queue leaves it as it is, and says how much is missing"
    )
    func noRoomForCopy() throws {
        let older = try TemporaryDirectory().fillLog()
        try open().close()
        for name in ["queue.db", "queue.db-wal"] {
            writeFile("\(path)/\(name)", readFile("\(older.path)/\(name)"))
        }
        DiskFault.set(.full)
        let error = #expect(throws: SQLiteError.self) { try LaterVersion.open(path) }
        let told = try QueueError(#require(error), path: path + "/queue.db")
        #expect(told.kind == .diskFull)
        let version = QueueSchema.migrations.count
        let steps = "has schema \(version) and must be brought to \(version + 1)"
        #expect(told.description.contains(steps))
        #expect(readFile(path + "/queue.db") == readFile(older.path + "/queue.db"))
        #expect(readFile(path + "/queue.db-wal") == readFile(older.path + "/queue.db-wal"))
        let names = TemporaryDirectory.names(in: path)
        #expect(!names.contains { $0.hasPrefix(LaterVersion.keptName) })

        DiskFault.set(.none)
        try LaterVersion.open(path)
        #expect(TemporaryDirectory.names(in: path).contains(LaterVersion.keptName))
        #expect(try storedLogs(path + "/queue.db") == storedLogs(in: older))
    }
}
