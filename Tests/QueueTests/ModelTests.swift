import Glibc
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// Random sequences of everything callers can do, restarts and crashes among them, next to a model
/// that is too simple to be wrong.
@Suite(.timeLimit(.minutes(10))) struct ModelTests {
    /// `SLUICE_MODEL_SEQUENCES` asks for more.
    static let sequences =
        getenv("SLUICE_MODEL_SEQUENCES").flatMap { Int(String(cString: $0)) } ?? 160

    @Test(
        "The ledger closes and every log leaves once and in order, whatever happens",
        arguments: 0..<8
    )
    func randomSequences(part: Int) throws {
        for sequence in 0..<Self.sequences / 8 {
            let run = try ModelRun(seed: UInt64(part * 1_000_000 + sequence))
            for _ in 0..<30 { try run.step() }
            try run.finish()
        }
    }
}

private final class ModelRun {
    private var directory = TemporaryDirectory()
    private var configuration: QueueConfiguration
    private var store: DurableQueue
    private var consumer: Consumer
    private var generator: SeededGenerator
    private let seed: UInt64

    // The model.
    private var appended: [StreamKey: [Int]] = [:]
    private var sealed: [StreamKey: [Int]] = [:]
    private var accepted: [String: Int64] = [:]
    private var delivered: [String: Int64] = [:]
    private var inFlight: [SealedPacket] = []
    private var contents: [Int64: [Int]] = [:]
    private var asked: [String: Int] = [:]
    private var nextLog = 0

    init(seed: UInt64) throws {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        configuration = .small(
            directory.path,
            packets: PacketLimits(
                rawBytes: Int.random(in: 500...5000, using: &generator),
                logs: Int.random(in: 5...60, using: &generator),
                age: Bool.random(using: &generator) ? .milliseconds(1) : .seconds(3600)
            )
        )
        // A copy for a crash must not meet a checkpoint half-way.
        configuration.tuning.housekeeping = .seconds(3600)
        configuration.tuning.rowBytes = Int.random(in: 100...3000, using: &generator)
        configuration.tuning.recentBytesMax = Int.random(in: 0...3000, using: &generator)
        configuration.tuning.idleStreams = Int.random(in: 0...3, using: &generator)
        configuration.tuning.checkpointBytes = Int.random(in: 1...200_000, using: &generator)
        configuration.durability = .normal
        store = try DurableQueue(configuration, journal: .silent)
        consumer = Consumer(store)
    }

    func step() throws {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<45: append()
        case 45..<60: request(Int.random(in: 1...4, using: &generator))
        case 60..<80: acknowledge()
        case 80..<90: store.flush(destination())
        case 90..<96: try restart(crashing: false)
        default: try restart(crashing: true)
        }
        try settle()
    }

    /// Everything leaves in the end.
    func finish() throws {
        while store.status.ledger.queued > 0 {
            for name in ["app", "other"] {
                store.flush(name)
                store.request(50, for: name)
                asked[name, default: 0] += 50
            }
            try settle()
            while !inFlight.isEmpty { acknowledge() }
            try settle()
        }
        #expect(sealed == appended, "seed \(seed)")
        #expect(store.status.bytes == 0 && store.status.rows == 0, "seed \(seed)")
        store.close()
    }

    private func destination() -> String {
        Bool.random(using: &generator) ? "app" : "other"
    }

    private func append() {
        let batches = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
            let key = StreamKey.named(
                "\(Int.random(in: 0..<4, using: &generator))",
                destination: destination()
            )
            let numbers = nextLog..<nextLog + Int.random(in: 1...20, using: &generator)
            nextLog = numbers.upperBound
            appended[key, default: []] += numbers
            accepted[key.destination, default: 0] += Int64(numbers.count)
            let filling = Int.random(in: 1...200, using: &generator)
            return Batch(stream: key, logs: logs(numbers, filling: filling))
        }
        #expect(store.store(batches) == .stored, "seed \(seed)")
    }

    private func request(_ count: Int) {
        let name = destination()
        asked[name, default: 0] += count
        store.request(count, for: name)
    }

    private func acknowledge() {
        guard let index = inFlight.indices.randomElement(using: &generator) else { return }
        let packet = inFlight.remove(at: index)
        store.end(packet, .stored)
        delivered[packet.stream.destination, default: 0] += Int64(packet.logCount)
    }

    private func restart(crashing: Bool) throws {
        try settle()
        if crashing {
            let crashed = directory.copy()
            store.close()
            directory = crashed
            configuration.directory = crashed.path
        } else {
            store.close()
        }
        store = try DurableQueue(configuration, journal: .silent)
        consumer = Consumer(store)
        asked = [:]
        // What was in flight comes again before anything else, the same as before.
        let before = inFlight
        inFlight = []
        for name in ["app", "other"] {
            let expected = before.filter { $0.stream.destination == name }
                .sorted { $0.number < $1.number }
            guard !expected.isEmpty else { continue }
            let again = consumer.packets(expected.count, of: name)
            #expect(again.map(\.number) == expected.map(\.number), "seed \(seed)")
            #expect(again.map(\.packID) == expected.map(\.packID), "seed \(seed)")
            for packet in again {
                #expect(try store.contents(of: packet) == contents[packet.number], "seed \(seed)")
            }
            inFlight += again
        }
    }

    /// Waits until the queue has done what was asked, takes its packets and compares.
    private func settle() throws {
        // An answer is given before the packets of its turn, so the second one comes after them.
        for _ in 0..<2 { _ = store.store() }
        while consumer.waiting > 0 {
            let packet = consumer.next()[0]
            asked[packet.stream.destination, default: 0] -= 1
            let numbers = try store.contents(of: packet)
            #expect(numbers.count == packet.logCount, "seed \(seed)")
            sealed[packet.stream, default: []] += numbers
            contents[packet.number] = numbers
            inFlight.append(packet)
        }
        for (name, count) in asked { #expect(count >= 0, "\(name), seed \(seed)") }
        for (key, numbers) in sealed {
            #expect(appended[key]?.starts(with: numbers) == true, "seed \(seed)")
        }
        for (name, count) in accepted {
            let ledger = store.status.destinations[name]?.ledger ?? Ledger()
            #expect(ledger.accepted == count, "seed \(seed)")
            #expect(ledger.delivered == delivered[name] ?? 0, "seed \(seed)")
            #expect(ledger.isClosed && ledger.dead + ledger.expired + ledger.discarded == 0)
        }
    }
}
