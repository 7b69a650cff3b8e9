import Glibc
import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10)), .serialized) struct FailureTests {
    let directory = TemporaryDirectory()

    var path: String { directory.path + "/faulty" }

    func open(
        _ change: (inout QueueConfiguration) -> Void = { _ in }
    ) throws -> DurableQueue {
        DiskFault.set(.none)
        var configuration = QueueConfiguration.small(path)
        change(&configuration)
        return try directory.open(configuration)
    }

    /// Ends the fault, and waits until the queue has recovered.
    func heal(_ store: DurableQueue) {
        DiskFault.set(.none)
        store.wait { $0.admission == .open }
    }

    /// Everything that waits is delivered.
    func drain(_ store: DurableQueue, _ consumer: Consumer) throws {
        store.flush("app")
        store.request(1000, for: "app")
        while store.status.ledger.queued > 0 {
            for packet in consumer.next() {
                #expect(try store.blocks(of: packet).count > 0)
                store.end(packet, .stored)
            }
            store.wait { $0.packets == 0 || consumer.waiting > 0 }
        }
    }

    @Test(
        "Nothing is acknowledged that is not stored, and the queue recovers by itself",
        arguments: [DiskFault.full, .writeError, .syncError]
    )
    func failingWrites(fault: DiskFault) throws {
        let store = try open()
        #expect(store.store(Batch(logs(0..<10))) == .stored)
        DiskFault.set(fault)
        let reason = fault == .full ? QueueAdmission.diskFull : .failing
        for number in 10..<13 {
            #expect(store.store(Batch(logs([number]))) == .refused(reason))
        }
        #expect(store.admission == reason)
        #expect(store.status.problem != nil)
        #expect(store.status.failures > 0)

        heal(store)
        #expect(store.store(Batch(logs(20..<30))) == .stored)
        #expect(store.status.problem == nil)
        let consumer = Consumer(store)
        let contents = try store.contents(of: consumer.sealed())
        // What was refused after a failed sync may be there all the same: nobody can know.
        #expect(contents.filter { !(10..<13).contains($0) } == Array(0..<10) + Array(20..<30))
        #expect(fault == .syncError || contents.count == 20)
        #expect(store.status.ledger.queued == Int64(contents.count))
        #expect(store.status.ledger.isClosed)
    }

    @Test(
        "After a failed write logs are taken again, also while a reader holds a snapshot",
        arguments: [DiskFault.full, .writeError, .syncError]
    )
    func failingBesideReader(fault: DiskFault) throws {
        let store = try open()
        #expect(store.store(Batch(logs(0..<10))) == .stored)
        let reader = try Connection(path + "/queue.db", .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM rows")
        #expect(store.store(Batch(logs(10..<20))) == .stored)
        DiskFault.set(fault)
        #expect(store.store(Batch(logs([99]))) != .stored)
        DiskFault.set(.none)
        let start = Moment.now
        store.wait { $0.admission == .open || .now - start > .seconds(4) }
        #expect(store.store(Batch(logs(20..<30))) == .stored)
        #expect(try reader.integer("SELECT count(*) FROM rows") == 1)
        try reader.execute("COMMIT")
        store.close()

        let again = try open()
        let found = try again.contents(of: Consumer(again).sealed())
        #expect(found.filter { $0 != 99 } == Array(0..<30))
        #expect(again.status.salvages == 0 && again.status.repairedLogs == 0)
    }

    @Test("What delivery asks for and acknowledges meanwhile is done afterwards")
    func deliveryDuringFailure() throws {
        let store = try open()
        let consumer = Consumer(store)
        _ = store.store(Batch(logs(0..<10)))
        _ = store.store(Batch(stream: .named("b"), logs: logs(10..<20)))
        store.flush("app")
        let packets = consumer.packets(2)
        _ = store.store(Batch(stream: .named("c"), logs: logs(20..<30)))
        DiskFault.set(.syncError)
        store.end(packets[0], .stored)
        store.wait { $0.failures > 0 }
        store.request(1, for: "app")
        DiskFault.set(.none)
        store.wait { $0.ledger.delivered == 10 }
        store.flush("app")
        // The packet that delivery still holds is not handed over again.
        #expect(try consumer.next().map(store.contents) == [Array(20..<30)])
        store.end(packets[1], .stored)
        store.wait { $0.ledger.delivered == 20 }
        #expect(store.status.ledger.isClosed)
    }

    @Test("Faults at random times lose and repeat nothing that was answered for")
    func randomFaults() throws {
        let store = try open()
        var generator = SeededGenerator(seed: 11)
        let consumer = Consumer(store, requesting: 3)
        var stored: Set<Int> = []
        var delivered: [Int] = []
        /// As delivery does: what cannot be read while the store is closed is read when it is open
        /// again.
        func contents(of packet: SealedPacket) throws -> [Int] {
            do {
                return try store.contents(of: packet)
            } catch let error as QueueError where error.kind == .io {
                heal(store)
                return try store.contents(of: packet)
            }
        }
        func takeAll() throws {
            while consumer.waiting > 0 {
                let packet = consumer.next()[0]
                delivered += try contents(of: packet)
                store.end(packet, .stored)
                store.request(1, for: "app")
            }
        }
        for number in 0..<300 {
            let faults: [DiskFault] = [.full, .writeError, .syncError]
            if Int.random(in: 0..<10, using: &generator) == 0 {
                DiskFault.set(faults[Int.random(in: 0..<3, using: &generator)])
            } else {
                DiskFault.set(.none)
                if number % 7 == 0 { store.wait { $0.admission == .open } }
            }
            let name = "\(number % 4)"
            if store.store(Batch(stream: .named(name), logs: logs([number]))) == .stored {
                stored.insert(number)
            }
            if number % 5 == 0 { store.flush("app") }
            try takeAll()
        }
        heal(store)
        while store.status.ledger.queued > 0 {
            store.flush("app")
            try takeAll()
            usleep(200)
        }
        #expect(stored.count > 100)
        #expect(stored.isSubset(of: delivered))
        #expect(Set(delivered).count == delivered.count)
        #expect(store.status.ledger.isClosed)
        #expect(store.status.failures > 0)
        store.close()
    }

    static let canMount: Bool = {
        let probe = TemporaryDirectory()
        guard mount("tmpfs", probe.path, "tmpfs", 0, "size=64k") == 0 else { return false }
        return umount(probe.path) == 0
    }()

    @Test(
        "On a file system that others filled it refuses, and goes on when space returns",
        .enabled(if: canMount, "needs the right to mount a small file system")
    )
    func realDisk() throws {
        try #require(mount("tmpfs", directory.path, "tmpfs", 0, "size=6m") == 0)
        defer { umount(directory.path) }
        DiskFault.set(.none)
        writeFile(directory.path + "/ballast", [UInt8](repeating: 1, count: 2 << 20))
        var configuration = QueueConfiguration.small(directory.path + "/data")
        configuration.tuning.checkpointBytes = 256 << 10
        let store = try DurableQueue(configuration, journal: .silent)
        defer { store.close() }
        var stored = 0
        var outcome = AppendOutcome.stored
        while outcome == .stored {
            outcome = store.store(Batch(noise()))
            if outcome == .stored { stored += 1 }
        }
        #expect(outcome == .refused(.diskFull))
        #expect(stored > 10)
        #expect(store.status.ledger.accepted == Int64(stored))

        unlink(directory.path + "/ballast")
        store.wait { $0.admission == .open }
        #expect(store.store(Batch(logs([1]))) == .stored)
        let consumer = Consumer(store)
        store.flush("app")
        store.request(100, for: "app")
        var delivered = 0
        while delivered < stored + 1 {
            let packet = consumer.next()[0]
            delivered += try store.blocks(of: packet).count > 0 ? packet.logCount : 0
            store.end(packet, .stored)
        }
        store.wait { $0.ledger.delivered == Int64(stored + 1) }
        #expect(store.status.ledger.isClosed)
    }

    @Test(
        "A queue that filled its disk by itself can still be delivered, and then takes again",
        .enabled(if: canMount, "needs the right to mount a small file system")
    )
    func filledByItself() throws {
        try #require(mount("tmpfs", directory.path, "tmpfs", 0, "size=12m") == 0)
        defer { umount(directory.path) }
        DiskFault.set(.none)
        var configuration = QueueConfiguration.small(directory.path + "/data")
        configuration.tuning.checkpointBytes = 4 << 20
        let store = try DurableQueue(configuration, journal: .silent)
        defer { store.close() }
        let consumer = Consumer(store)
        for _ in 0..<2 {
            let before = store.status.ledger.accepted
            var outcome = AppendOutcome.stored
            while outcome == .stored { outcome = store.store(Batch(noise())) }
            #expect(outcome == .refused(.diskFull))
            #expect(store.status.problem == nil)
            #expect(store.status.ledger.accepted > before + 10)

            try drain(store, consumer)
            store.wait { $0.admission == .open }
        }
        #expect(store.status.failures == 0)
        #expect(store.status.ledger.isClosed)
    }

    @Test(
        "On a full disk a queue gives back its free space, in steps for which there is room",
        .enabled(if: canMount, "needs the right to mount a small file system")
    )
    func givesBackOnFullDisk() throws {
        try #require(mount("tmpfs", directory.path, "tmpfs", 0, "size=12m") == 0)
        defer { umount(directory.path) }
        DiskFault.set(.none)
        let packet = PacketLimits(rawBytes: 1 << 20, logs: 4, age: .seconds(3600))
        let store = try DurableQueue(
            .small(directory.path + "/data", packets: packet),
            journal: .silent
        )
        defer { store.close() }
        while store.store(Batch(noise())) == .stored {}
        let (full, stored) = (store.status.databaseBytes, Int(store.status.ledger.queued))
        #expect(full > 6 << 20)
        let consumer = Consumer(store)
        store.flush("app")
        store.request(1000, for: "app")
        let packets = consumer.packets(stored / 4)
        // Free pages in front, and behind them what has to move.
        for packet in packets.prefix(packets.count / 2) { store.end(packet, .stored) }
        // The size when it was full depends on how much of it was still in the log, so the logs are
        // the measure.
        store.wait { $0.databaseBytes < (stored << 16) * 2 / 3 }
        for packet in packets.dropFirst(packets.count / 2) {
            #expect(try store.blocks(of: packet).count > 0)
            store.end(packet, .stored)
        }
        store.wait { $0.ledger.delivered == packets.count * 4 && $0.admission == .open }
        #expect(store.status.failures == 0 && store.status.ledger.isClosed)
    }

    /// One log of 64 KiB that does not become smaller.
    private func noise() -> EncodedLogs {
        EncodedLogs(bytes: [0x0A, 0x80, 0x80, 0x04] + randomBytes(1 << 16), count: 1)
    }
}
