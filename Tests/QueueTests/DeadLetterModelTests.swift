import Logs
import System
import Testing

@testable import Queue

/// Random sequences of everything that moves a log between the accounts of the ledger, next to a model that
/// knows each log by its number.
@Suite(.timeLimit(.minutes(5))) struct DeadLetterModelTests {
    @Test("Every log is in one account, the one that the model says", arguments: 0..<8)
    func randomSequences(part: Int) throws {
        for sequence in 0..<ModelTests.sequences / 16 {
            let run = try LetterRun(seed: UInt64(part * 1_000_000 + sequence))
            for _ in 0..<40 { try run.step() }
            try run.finish()
        }
    }
}

/// Where the logs of a destination are.
private struct Accounts {
    var queued: Set<Int> = []
    var delivered: Set<Int> = []
    /// And when they died.
    var dead: [Int: WallTime] = [:]
    var expired: Set<Int> = []
    var discarded: Set<Int> = []
    /// Dropped on arrival, so that they have no number.
    var dropped = 0

    var ledger: Ledger {
        var ledger = Ledger()
        ledger.queued = Int64(queued.count)
        ledger.delivered = Int64(delivered.count)
        ledger.dead = Int64(dead.count)
        ledger.expired = Int64(expired.count)
        ledger.discarded = Int64(discarded.count + dropped)
        ledger.accepted =
            ledger.queued + ledger.delivered + ledger.dead + ledger.expired + ledger.discarded
        return ledger
    }
}

private final class LetterRun {
    private var directory = TemporaryDirectory()
    private var configuration: QueueConfiguration
    private var store: LogStore
    private var consumer: Consumer
    private var generator: SeededGenerator
    private let seed: UInt64
    private let policy: LatePolicy
    private let time = Locked(WallTime(seconds: 1_800_000_000))

    private var accounts = ["app": Accounts(), "other": Accounts()]
    /// Logs with a time that SLS would not take.
    private var late: Set<Int> = []
    private var inFlight: [(packet: SealedPacket, numbers: [Int])] = []
    private var nextLog = 0

    init(seed: UInt64) throws {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        configuration = .small(
            directory.path,
            packets: PacketLimits(
                rawBytes: Int.random(in: 500...5000, using: &generator),
                logs: Int.random(in: 5...60, using: &generator),
                age: .milliseconds(1)
            )
        )
        policy = LatePolicy.allCases.randomElement(using: &generator) ?? .rewrite
        for name in accounts.keys { configuration.destinations[name]?.lateLogs = policy }
        // A copy for a crash must not meet a checkpoint half-way. The first round is at the start.
        configuration.tuning.housekeeping = .seconds(3600)
        configuration.tuning.checkpointBytes = 64 << 20
        configuration.tuning.rowBytes = Int.random(in: 100...3000, using: &generator)
        configuration.tuning.idleStreams = Int.random(in: 0...3, using: &generator)
        configuration.deadLetterAgeMax = .seconds(60)
        configuration.durability = .normal
        store = try Self.open(configuration, time)
        consumer = Consumer(store)
    }

    private static func open(
        _ configuration: QueueConfiguration,
        _ time: Locked<WallTime>
    ) throws -> LogStore {
        let clock = QueueClock { time.withLock { $0 } }
        return try LogStore(configuration, journal: .silent, clock: clock)
    }

    private var now: WallTime { time.withLock { $0 } }

    func step() throws {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<30: append()
        case 30..<45: store.request(Int.random(in: 1...4, using: &generator), for: name())
        case 45..<55: leave { acknowledge($0, $1) }
        case 55..<75: leave { isolate($0, $1) }
        case 75..<78: leave { discard($0, $1) }
        case 78..<84: try replay()
        case 84..<87: try purge()
        case 87..<90: time.withLock { $0 = WallTime(seconds: $0.seconds + 45) }
        case 90..<95: try restart(crashing: false)
        default: try restart(crashing: true)
        }
        try settle()
    }

    func finish() throws {
        while accounts.values.contains(where: { !$0.queued.isEmpty }) {
            for name in accounts.keys {
                store.flush(name)
                store.request(50, for: name)
            }
            try settle()
            while !inFlight.isEmpty { leave { acknowledge($0, $1) } }
            try settle()
        }
        #expect(store.status.rows == 0 && store.status.packets == 0, "seed \(seed)")
        let letters = try store.letters()
        #expect(store.status.bytes == letters.reduce(0) { $0 + $1.cost }, "seed \(seed)")
        #expect(store.status.repairedLogs == 0, "seed \(seed)")
        store.close()
    }

    private func name() -> String { Bool.random(using: &generator) ? "app" : "other" }

    private func append() {
        let key = StreamKey.named(
            "\(Int.random(in: 0..<3, using: &generator))",
            destination: name()
        )
        let queued = takeLogs(Int.random(in: 0...30, using: &generator))
        let dead = takeLogs(Int.random(in: 0...3, using: &generator))
        let dropped = Int.random(in: 0...2, using: &generator)
        let reason = DeathReason(code: "ValueTooLarge", message: "")
        let batch = Batch(
            stream: key,
            logs: queued.logs,
            dead: dead.logs.count > 0 ? [Batch.Dead(logs: dead.logs, reason: reason)] : [],
            dropped: dropped
        )
        #expect(store.store(batch) == .stored, "seed \(seed)")
        accounts[key.destination]?.queued.formUnion(queued.numbers)
        accounts[key.destination]?.dropped += dropped
        for number in dead.numbers { accounts[key.destination]?.dead[number] = now }
    }

    private func takeLogs(_ count: Int) -> (logs: EncodedLogs, numbers: Range<Int>) {
        let numbers = nextLog..<nextLog + count
        nextLog = numbers.upperBound
        var logs = EncodedLogs()
        for number in numbers {
            let isLate = Int.random(in: 0..<25, using: &generator) == 0
            if isLate { late.insert(number) }
            let seconds = now.seconds - (isLate ? 8 * 86_400 : 0)
            let filling = Int.random(in: 1...100, using: &generator)
            logs.bytes += timed([number], at: UInt32(seconds), filling: filling).bytes
            logs.count += 1
        }
        return (logs, numbers)
    }

    private func leave(_ how: (SealedPacket, [Int]) -> Void) {
        guard let index = inFlight.indices.randomElement(using: &generator) else { return }
        let (packet, numbers) = inFlight.remove(at: index)
        how(packet, numbers)
    }

    private func acknowledge(_ packet: SealedPacket, _ numbers: [Int]) {
        store.acknowledge(packet)
        accounts[packet.stream.destination]?.queued.subtract(numbers)
        accounts[packet.stream.destination]?.delivered.formUnion(numbers)
    }

    private func discard(_ packet: SealedPacket, _ numbers: [Int]) {
        store.discard(packet, because: FakeSLS.reason)
        accounts[packet.stream.destination]?.queued.subtract(numbers)
        accounts[packet.stream.destination]?.discarded.formUnion(numbers)
    }

    private func isolate(_ packet: SealedPacket, _ numbers: [Int]) {
        store.isolate(packet, because: FakeSLS.reason)
        let name = packet.stream.destination
        let late = late.intersection(numbers)
        guard late.isEmpty else {
            if policy == .rewrite { return self.late.subtract(late) }
            accounts[name]?.queued.subtract(late)
            if policy == .drop { accounts[name]?.discarded.formUnion(late) }
            if policy == .deadLetter { for number in late { accounts[name]?.dead[number] = now } }
            return
        }
        guard numbers.count == 1 else { return }
        accounts[name]?.queued.subtract(numbers)
        accounts[name]?.dead[numbers[0]] = now
    }

    private func replay() throws {
        let name = name()
        guard Bool.random(using: &generator) else {
            let change = store.replaying(.matching(.init(destination: name)))
            #expect(change.changed == accounts[name]?.dead.count, "seed \(seed)")
            let dead = accounts[name]?.dead ?? [:]
            accounts[name]?.queued.formUnion(dead.keys)
            accounts[name]?.dead = [:]
            return
        }
        for letter in try store.letters(.init(destination: name)).prefix(3) {
            let number = try number(#require(letter.content))
            #expect(store.replaying(.ids([letter.id])).changed == 1, "seed \(seed)")
            accounts[name]?.dead[number] = nil
            accounts[name]?.queued.insert(number)
        }
    }

    private func purge() throws {
        for letter in try store.letters().prefix(3) {
            let number = try number(#require(letter.content))
            #expect(store.purging(.ids([letter.id])).changed == 1, "seed \(seed)")
            accounts[letter.stream.destination]?.dead[number] = nil
            accounts[letter.stream.destination]?.discarded.insert(number)
        }
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
        store = try Self.open(configuration, time)
        consumer = Consumer(store)
        // Each start looks once for dead letters that are too old.
        for name in accounts.keys {
            let old = accounts[name]?.dead.filter { $0.value + .seconds(60) <= now } ?? [:]
            for number in old.keys { accounts[name]?.dead[number] = nil }
            accounts[name]?.expired.formUnion(old.keys)
        }
        store.settle()
        // What was in flight comes again, the same as before.
        let before = inFlight
        inFlight = []
        for name in accounts.keys {
            let count = before.count { $0.packet.stream.destination == name }
            guard count > 0 else { continue }
            for packet in consumer.packets(count, of: name) { try arrive(packet) }
        }
        let again = Set(inFlight.map(\.packet.packID))
        // Pieces that were not handed over yet may come among them.
        #expect(again.count == before.count, "seed \(seed)")
    }

    private func arrive(_ packet: SealedPacket) throws {
        let numbers = try entries(store.blocks(of: packet)).map(number)
        #expect(numbers.count == packet.logCount, "seed \(seed)")
        inFlight.append((packet, numbers))
    }

    private func settle() throws {
        store.settle()
        while consumer.waiting > 0 { try arrive(consumer.next()[0]) }
        let flying = inFlight.flatMap(\.numbers)
        #expect(Set(flying).count == flying.count, "seed \(seed)")
        for (packet, numbers) in inFlight {
            let queued = accounts[packet.stream.destination]?.queued ?? []
            #expect(queued.isSuperset(of: numbers), "seed \(seed)")
        }
        for (name, account) in accounts {
            let ledger = store.status.destinations[name]?.ledger ?? Ledger()
            #expect(ledger == account.ledger, "\(name), seed \(seed)")
            let dead = try store.deadNumbers(.init(destination: name))
            #expect(dead.sorted() == account.dead.keys.sorted(), "\(name), seed \(seed)")
        }
    }
}
