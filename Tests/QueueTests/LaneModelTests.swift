import Logs
import System
import Testing

@testable import Queue

/// Random lives of lanes, next to a model that knows what SLS may see: under one key and number nothing but one
/// packet, ever.
@Suite(.timeLimit(.minutes(2))) struct LaneModelTests {
    @Test("No number of a lane is used for two contents, whatever happens", arguments: 0..<8)
    func randomLives(part: Int) throws {
        for sequence in 0..<12 {
            let run = try LaneRun(seed: UInt64(part * 1000 + sequence))
            for _ in 0..<60 { try run.step() }
            try run.finish()
        }
    }
}

private final class LaneRun {
    private struct Sent: Equatable {
        let packID: String
        let numbers: [Int]
    }

    private var directory = TemporaryDirectory()
    private var configuration: QueueConfiguration
    private var store: LogStore
    private var consumer: Consumer
    private var generator: SeededGenerator
    private let comment: Comment

    private var nextLog = 0
    private var inFlight: [SealedPacket] = []
    private var contents: [Int64: [Int]] = [:]
    /// What was given each number of each key, and the keys whose last packet was acknowledged.
    private var sent: [String: [Int64: Sent]] = [:]
    private var acknowledged: Set<String> = []
    /// Keys that must not be used again.
    private var dead: Set<String> = []
    /// Keys of packets that were postponed, and have not come again.
    private var postponed: Set<String> = []
    private var hasRestarted = false
    private var delivered: Set<Int> = []
    private var gone: Set<Int> = []

    init(seed: UInt64) throws {
        comment = "seed \(seed)"
        generator = SeededGenerator(seed: seed)
        configuration = .small(directory.path)
        // A copy for a crash must not meet a checkpoint half-way.
        configuration.tuning.housekeeping = .seconds(3600)
        configuration.durability = .normal
        configuration.tuning.recentBytesMax = Bool.random(using: &generator) ? 0 : 1 << 20
        let limits = PacketLimits(rawBytes: 1 << 20, logs: 10, age: .seconds(3600))
        var rules = DestinationRules(packet: limits)
        rules.lanes = Int.random(in: 0...4, using: &generator)
        configuration.destinations = ["app": rules]
        store = try LogStore(configuration, journal: .silent)
        consumer = Consumer(store)
    }

    func step() throws {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<35: append()
        case 35..<55: store.request(Int.random(in: 1...3, using: &generator), for: "app")
        case 55..<72: acknowledge()
        case 72..<78: takeBack(relaning: true)
        case 78..<83: takeBack(relaning: false)
        case 83..<88: setAside()
        case 88..<92: setLanes(Int.random(in: 0...4, using: &generator))
        case 92..<96: try restart(crashing: false)
        default: try restart(crashing: true)
        }
        try settle()
    }

    /// Everything leaves in the end.
    func finish() throws {
        while store.status.ledger.queued > 0 {
            store.flush("app")
            store.request(5, for: "app")
            try settle()
            while !inFlight.isEmpty { acknowledge() }
            try settle()
        }
        #expect(delivered.union(gone) == Set(0..<nextLog), comment)
        #expect(delivered.isDisjoint(with: gone), comment)
        #expect(store.status.ledger.isClosed, comment)
        store.close()
    }

    private func append() {
        let numbers = nextLog..<nextLog + Int.random(in: 1...10, using: &generator)
        nextLog = numbers.upperBound
        let key = StreamKey.named(
            "\(Int.random(in: 0..<2, using: &generator))",
            logstore: Bool.random(using: &generator) ? "x" : "y"
        )
        let logs = timed(numbers, at: UInt32(WallTime.now.seconds))
        #expect(store.store(Batch(stream: key, logs: logs)) == .stored, comment)
        if Bool.random(using: &generator) { store.flush("app") }
    }

    private func setLanes(_ count: Int) {
        configuration.destinations["app"]?.lanes = count
        store.apply(configuration.destinations)
    }

    private func pick() -> (packet: SealedPacket, numbers: [Int])? {
        inFlight.indices.randomElement(using: &generator).map { index in
            let packet = inFlight.remove(at: index)
            return (packet, contents[packet.number] ?? [])
        }
    }

    private func acknowledge() {
        guard let (packet, numbers) = pick() else { return }
        store.acknowledge(packet)
        delivered.formUnion(numbers)
        if let lane = packet.lane { acknowledged.insert(lane.key) }
    }

    private func takeBack(relaning: Bool) {
        guard let (packet, numbers) = pick() else { return }
        if let lane = packet.lane { dead.insert(lane.key) }
        if relaning {
            store.relane(packet)
            // It comes before everything else of its outlet but pieces, so that none stays behind.
            store.request(1000, for: packet.stream.outlet)
        } else if Bool.random(using: &generator) {
            store.isolate(packet, because: FakeSLS.reason)
            if numbers.count == 1 { gone.formUnion(numbers) }
        } else {
            store.discard(packet, because: FakeSLS.reason)
            gone.formUnion(numbers)
        }
    }

    private func setAside() {
        guard let (packet, _) = pick() else { return }
        store.setAside(packet)
        guard Bool.random(using: &generator) else { return inFlight.append(packet) }
        store.postpone(packet)
        if let lane = packet.lane { postponed.insert(lane.key) }
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
        store = try LogStore(configuration, journal: .silent)
        consumer = Consumer(store)
        hasRestarted = true
        let before = inFlight
        inFlight = []
        // Free lanes are forgotten: what begins now has new keys.
        let kept = postponed.union(before.compactMap(\.lane?.key))
        dead.formUnion(Set(sent.keys).subtracting(kept))
        for packet in before { store.request(1, for: packet.stream.outlet) }
        for _ in 0..<100 where !Set(before.map(\.number)).isSubset(of: inFlight.map(\.number)) {
            for logstore in ["x", "y"] { store.request(1, for: .named(logstore)) }
            try settle()
        }
        for packet in before {
            let again = try #require(inFlight.first { $0.number == packet.number }, comment)
            #expect(again.lane == packet.lane && again.isRecovered, comment)
            #expect(again.packID == packet.packID, comment)
        }
    }

    private func settle() throws {
        store.settle()
        while consumer.waiting > 0 { try note(consumer.next()[0]) }
        let keys = inFlight.compactMap(\.lane?.key)
        #expect(Set(keys).count == keys.count, comment)
    }

    /// A packet was handed over: what SLS may see of it must not contradict what it saw before.
    private func note(_ packet: SealedPacket) throws {
        inFlight.append(packet)
        let numbers = try entries(store.blocks(of: packet)).map(number)
        contents[packet.number] = numbers
        guard let lane = packet.lane else { return }
        #expect(!dead.contains(lane.key), comment)
        postponed.remove(lane.key)
        let content = Sent(packID: packet.packID, numbers: numbers)
        if let before = sent[lane.key]?[lane.sequence] {
            #expect(before == content && packet.isRecovered, comment)
            return
        }
        let last = sent[lane.key]?.keys.max() ?? 0
        #expect(lane.sequence == last + 1, comment)
        #expect(last == 0 || acknowledged.contains(lane.key), comment)
        #expect(!packet.isRecovered || hasRestarted, comment)
        sent[lane.key, default: [:]][lane.sequence] = content
        acknowledged.remove(lane.key)
    }
}
