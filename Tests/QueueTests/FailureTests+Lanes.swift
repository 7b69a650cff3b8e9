import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

// Of the same suite, whose tests take turns: the disk's faults are the whole process's.
extension FailureTests {
    /// Whether a commit that failed is there is not known, and a number of a lane may hang on it.
    @Test("No number of a lane is used for two packets when commits fail", arguments: [21, 22, 23])
    func lanes(seed: UInt64) throws {
        DiskFault.set(.none)
        var configuration = QueueConfiguration.small(directory.path + "/faulty")
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 5, age: .milliseconds(1))
        var rules = DestinationRules(packet: limits)
        rules.lanes = 3
        configuration.destinations = ["app": rules]
        let store = try DurableQueue(configuration, journal: .silent)
        let consumer = Consumer(store)
        store.requestOnceKnown(4)
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
            if Int.random(in: 0..<5, using: &generator) == 0 {
                store.end(packet, .relane)
            } else {
                store.end(packet, .stored)
            }
            store.request(1, for: "app")
        }
        for number in 0..<300 {
            let faults: [DiskFault] = [.none, .none, .none, .writeError, .syncError]
            DiskFault.set(faults.randomElement(using: &generator) ?? .none)
            if number % 10 == 0 {
                DiskFault.set(.none)
                store.wait { $0.admission == .open }
            }
            _ = store.store(Batch(stream: .named("\(number % 3)"), logs: logs([number])))
            try takeAll()
            giveBack()
        }
        DiskFault.set(.none)
        store.wait { $0.admission == .open }
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
        store.close()
    }
}
