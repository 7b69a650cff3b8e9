import Glibc
import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

// Of the same suite, whose tests take turns: the disk's faults are the whole process's.
extension FailureTests {
    @Test(
        "A request whose commit failed was not answered for, and is stored when it comes again",
        arguments: [DiskFault.full, .writeError]
    )
    func repeatsAfterFailure(fault: DiskFault) throws {
        DiskFault.set(.none)
        let store = try DurableQueue(.small(directory.path + "/faulty"), journal: .silent)
        defer { store.close() }
        #expect(store.send(1000) == .stored)
        DiskFault.set(fault)
        for _ in 0..<2 {
            guard case .refused = store.send(2000) else {
                Issue.record("stored on a disk that takes nothing")
                continue
            }
        }
        DiskFault.set(.none)
        store.wait { $0.admission == .open }
        #expect(store.send(1000) == BatchIdentity.of(1000).repeated)
        #expect(store.send(2000) == .stored)
        #expect(store.send(2000) == BatchIdentity.of(2000).repeated)
        #expect(store.status.ledger.accepted == 20)
    }

    @Test("Whether a commit that failed to sync is there or not, its logs are stored once")
    func repeatsAfterFailedSync() throws {
        DiskFault.set(.none)
        let store = try DurableQueue(.small(directory.path + "/faulty"), journal: .silent)
        var generator = SeededGenerator(seed: 5)
        for number in 0..<60 {
            if Int.random(in: 0..<3, using: &generator) == 0 { DiskFault.set(.syncError) }
            var outcome = store.send(number * 1000)
            while case .refused = outcome {
                DiskFault.set(.none)
                store.wait { $0.admission == .open }
                outcome = store.send(number * 1000)
            }
        }
        #expect(store.status.failures > 0)
        #expect(store.status.ledger.accepted == 600)
        #expect(store.status.repeats.known == 60)
        store.close()
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
                let batch = Batch(stream: .named("a"), logs: logs([sent], filling: 1))
                store.append([batch], identity: .of(sent * 1000)) { answers.put($0) }
                sent += 1
            }
            isRefused = answers.take(500).contains(.refused(.diskFull))
        }
        #expect(isRefused)
        #expect(store.status.problem == nil && store.status.failures == 0)
        let consumer = Consumer(store)
        store.flush("app")
        store.request(1000, for: "app")
        while store.status.ledger.queued > 0 {
            for packet in consumer.next() { store.end(packet, .stored) }
            store.wait { $0.packets == 0 || consumer.waiting > 0 }
        }
        #expect(store.status.failures == 0)
        #expect(store.status.ledger.isClosed)
    }
}
