import Glibc
import Logs
import System
import Testing

@testable import Queue

/// Random lives of a backlog with shares for fresh logs that change, next to a model that knows which logs there are.
@Suite(.timeLimit(.minutes(5))) struct FreshModelTests {
    /// `SLUICE_MODEL_SEQUENCES` asks for more.
    static let sequences =
        getenv("SLUICE_MODEL_SEQUENCES").flatMap { Int(String(cString: $0)) } ?? 80

    @Test(
        "Whatever the share, every log leaves once or is counted, and each generation in order",
        arguments: 0..<8
    )
    func randomSequences(part: Int) throws {
        for sequence in 0..<Self.sequences / 8 {
            let run = try FreshRun(seed: UInt64(part * 1_000_000 + sequence))
            for _ in 0..<60 { try run.step() }
            try run.finish()
        }
    }
}

private final class FreshRun {
    private var directory = TemporaryDirectory()
    private let clock = SettableClock()
    private var configuration: QueueConfiguration
    private var store: LogStore
    private var consumer: Consumer
    private var generator: SeededGenerator
    private let comment: Comment

    private var nextLog = 0
    private var inFlight: [SealedPacket] = []
    private var contents: [Int64: [Int]] = [:]
    private var left: Set<Int> = []
    private var isolated: Set<Int> = []
    /// The last log that left of each generation.
    private var last: [Substring: Int] = [:]

    init(seed: UInt64) throws {
        comment = "seed \(seed)"
        generator = SeededGenerator(seed: seed)
        configuration = .small(directory.path)
        // A copy for a crash must not meet a checkpoint half-way.
        configuration.tuning.housekeeping = .seconds(3600)
        configuration.durability = .normal
        configuration.tuning.idleStreams = Int.random(in: 0...2, using: &generator)
        configuration.destinations = ["app": Self.rules(&generator)]
        store = try LogStore(configuration, journal: .silent, clock: clock.queueClock)
        consumer = Consumer(store)
    }

    private static func rules(_ generator: inout SeededGenerator) -> DestinationRules {
        var rules = DestinationRules(
            packet: PacketLimits(
                rawBytes: 1 << 20,
                logs: Int.random(in: 5...20, using: &generator),
                age: .seconds(1)
            )
        )
        rules.freshPercent = [0, 20, 50, 90].randomElement(using: &generator) ?? 0
        rules.lanes = Bool.random(using: &generator) ? 0 : Int.random(in: 1...4, using: &generator)
        if Int.random(in: 0..<4, using: &generator) == 0 {
            rules.overflow = .dropOldest
            rules.bytesMax = Int.random(in: 6000...20_000, using: &generator)
        }
        return rules
    }

    func step() throws {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<45: append()
        case 45..<65: request(Int.random(in: 1...4, using: &generator))
        case 65..<75: acknowledge()
        case 75..<86: clock.advance(Int64.random(in: 1...60, using: &generator))
        case 86..<90:
            configuration.destinations = ["app": Self.rules(&generator)]
            store.apply(configuration.destinations)
        case 90..<95: isolate()
        case 95..<98: try restart(crashing: false)
        default: try restart(crashing: true)
        }
        try settle()
    }

    /// Everything that was not dropped leaves in the end.
    func finish() throws {
        while store.status.ledger.queued > 0 {
            store.flush("app")
            request(50)
            try settle()
            while !inFlight.isEmpty { acknowledge() }
            try settle()
        }
        let ledger = store.status.ledger
        #expect(ledger.accepted == Int64(nextLog) && ledger.isClosed, comment)
        #expect(ledger.delivered + ledger.dead == Int64(left.count), comment)
        #expect(store.status.rows == 0 && store.status.streams == 0, comment)
        store.close()
    }

    private func append() {
        let numbers = nextLog..<nextLog + Int.random(in: 1...25, using: &generator)
        let key = StreamKey.named("\(Int.random(in: 0..<2, using: &generator))")
        let logs = timed(numbers, at: 1_800_000_000)
        guard store.store(Batch(stream: key, logs: logs)) == .stored else { return }
        nextLog = numbers.upperBound
    }

    private func request(_ count: Int) {
        store.request(count, for: .named("app-log"))
    }

    private func acknowledge() {
        guard let index = inFlight.indices.randomElement(using: &generator) else { return }
        store.acknowledge(inFlight.remove(at: index))
    }

    /// Halves are seen again; what dies does not come back.
    private func isolate() {
        guard let index = inFlight.indices.randomElement(using: &generator) else { return }
        let packet = inFlight.remove(at: index)
        let numbers = contents[packet.number] ?? []
        isolated.formUnion(numbers)
        if packet.logCount > 1 { left.subtract(numbers) }
        store.isolate(packet, because: FakeSLS.reason)
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
        let before = store.status
        store = try LogStore(configuration, journal: .silent, clock: clock.queueClock)
        #expect(store.status.ledger == before.ledger, comment)
        #expect(store.status.bytes == before.bytes, comment)
        #expect(store.status.streams == before.streams, comment)
        #expect(store.status.repairedLogs == 0, comment)
        consumer = Consumer(store)
        // Sealed packets come again before all others, and are the same.
        let expected = Set(inFlight.map(\.packID))
        for packet in inFlight { left.subtract(contents[packet.number] ?? []) }
        inFlight = []
        for _ in 0..<200 where !expected.isSubset(of: inFlight.map(\.packID)) {
            request(1)
            try settle()
        }
        #expect(expected.isSubset(of: inFlight.map(\.packID)), comment)
    }

    private func settle() throws {
        store.settle()
        while consumer.waiting > 0 { try note(consumer.next()[0]) }
        #expect(store.status.ledger.isClosed, comment)
    }

    private func note(_ packet: SealedPacket) throws {
        inFlight.append(packet)
        let numbers = try entries(store.blocks(of: packet)).map(number)
        #expect(left.isDisjoint(with: numbers), comment)
        left.formUnion(numbers)
        #expect(numbers == numbers.sorted(), comment)
        let isKnown = contents.updateValue(numbers, forKey: packet.number) != nil
        let generation = packet.packID.prefix(16)
        // Pieces of an earlier packet, and packets of an earlier life, come again.
        guard !isKnown, let first = numbers.first, !isolated.contains(first) else { return }
        #expect(first > last[generation] ?? -1, comment)
        last[generation] = max(last[generation] ?? -1, numbers.last ?? -1)
    }
}
