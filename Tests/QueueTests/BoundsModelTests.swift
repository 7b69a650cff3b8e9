import Glibc
import Logs
import System
import Testing

@testable import Queue

/// Random sequences with several outlets, bounds, policies and rules that change, next to a model that knows of
/// each log which call brought it.
@Suite(.timeLimit(.minutes(5))) struct BoundsModelTests {
    /// `SLUICE_MODEL_SEQUENCES` asks for more.
    static let sequences =
        getenv("SLUICE_MODEL_SEQUENCES").flatMap { Int(String(cString: $0)) } ?? 80

    @Test(
        "Bounds hold, the oldest make room first, and every log leaves once or is counted",
        arguments: 0..<8
    )
    func randomSequences(part: Int) throws {
        for sequence in 0..<Self.sequences / 8 {
            let run = try BoundsModelRun(seed: UInt64(part * 1_000_000 + sequence))
            for _ in 0..<40 { try run.step() }
            try run.finish()
        }
    }
}

private final class BoundsModelRun {
    private static let names = ["app", "other"]
    private var directory = TemporaryDirectory()
    private var configuration: QueueConfiguration
    private var store: LogStore
    private var consumer: Consumer
    private var generator: SeededGenerator
    private let seed: UInt64

    /// Of each log: which call brought it, in ascending order, and whether it left in a packet.
    private var call: [Int] = []
    private var hasLeft: [Bool] = []
    private var streams: [StreamKey: [Int]] = [:]
    private var sealed: [StreamKey: [Int]] = [:]
    /// Logs that wait, by destination and call; the dropped are taken from the oldest call.
    private var waiting: [String: [Int: Int]] = [:]
    private var accepted: [String: Int64] = [:]
    private var expired: [String: Int64] = [:]
    private var inFlight: [SealedPacket] = []
    private var calls = 0

    init(seed: UInt64) throws {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        configuration = .small(directory.path)
        configuration.tuning.housekeeping = .seconds(3600)
        configuration.tuning.idleStreams = Int.random(in: 0...3, using: &generator)
        configuration.tuning.rowBytes = Int.random(in: 300...3000, using: &generator)
        configuration.durability = .normal
        if Bool.random(using: &generator) {
            configuration.bytesMax = Int.random(in: 20_000...60_000, using: &generator)
        }
        configuration.destinations = [:]
        for name in Self.names { configuration.destinations[name] = Self.rules(&generator) }
        store = try LogStore(configuration, journal: .silent)
        consumer = Consumer(store)
    }

    private static func rules(_ generator: inout SeededGenerator) -> DestinationRules {
        var rules = DestinationRules(
            packet: PacketLimits(
                rawBytes: Int.random(in: 500...5000, using: &generator),
                logs: Int.random(in: 5...60, using: &generator),
                age: .seconds(3600)
            )
        )
        if Int.random(in: 0..<4, using: &generator) > 0 {
            rules.bytesMax = Int.random(in: 8000...30_000, using: &generator)
        }
        rules.overflow = Bool.random(using: &generator) ? .reject : .dropOldest
        rules.logstoresMax = Int.random(in: 1...4, using: &generator)
        return rules
    }

    func step() throws {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<60: try append()
        case 60..<70: store.request(Int.random(in: 1...4, using: &generator), for: outlet())
        case 70..<82: acknowledge()
        case 82..<86: store.flush(destination())
        case 86..<90: changeRules()
        case 90..<96: try restart(crashing: false)
        default: try restart(crashing: true)
        }
        try settle()
    }

    /// Everything that was not dropped leaves in the end.
    func finish() throws {
        while store.status.ledger.queued > 0 {
            for name in Self.names {
                store.flush(name)
                store.request(50, for: name)
            }
            try settle()
            while !inFlight.isEmpty { acknowledge() }
            try settle()
        }
        for (name, calls) in waiting { #expect(calls.isEmpty, "\(name), seed \(seed)") }
        #expect(store.status.bytes == 0 && store.status.rows == 0, "seed \(seed)")
        for destination in store.status.destinations.values {
            #expect(destination.bytes == 0, "seed \(seed)")
        }
        store.close()
    }

    private func destination() -> String {
        Bool.random(using: &generator) ? "app" : "other"
    }

    private func outlet() -> Outlet {
        Outlet(
            destination: destination(),
            logstore: "\(Int.random(in: 0..<3, using: &generator))"
        )
    }

    private func append() throws {
        let target = outlet()
        let key = StreamKey.named(
            "\(Int.random(in: 0..<3, using: &generator))",
            destination: target.destination,
            logstore: target.logstore
        )
        let numbers = call.count..<call.count + Int.random(in: 1...8, using: &generator)
        let filling = Int.random(in: 1...400, using: &generator)
        let batch = Batch(stream: key, logs: logs(numbers, filling: filling))
        let before = store.admission(for: target)
        let bytesBefore = store.status
        let outcome = store.store(batch)
        let isCrowded = outcome == .refused(.tooManyLogstores)
        #expect(isCrowded == (before == .tooManyLogstores), "seed \(seed)")
        if outcome == .stored {
            try stored(key, numbers)
        } else {
            // Nothing of it is there, and there was a bound to name.
            #expect(
                outcome == .refused(.tooManyLogstores) || outcome == .refused(.full)
                    || outcome == .refused(.destinationFull),
                "seed \(seed)"
            )
            #expect(store.status.bytes == bytesBefore.bytes, "seed \(seed)")
        }
    }

    private func stored(_ key: StreamKey, _ numbers: Range<Int>) throws {
        let name = key.destination
        calls += 1
        call += numbers.map { _ in calls }
        hasLeft += numbers.map { _ in false }
        streams[key, default: []] += numbers
        accepted[name, default: 0] += Int64(numbers.count)
        waiting[name, default: [:]][calls] = numbers.count
        let shown = try #require(store.status.destinations[name])
        let rules = configuration.rules(name)
        #expect(shown.bytes <= rules.bytesMax ?? .max, "seed \(seed)")
        #expect(store.status.bytes <= configuration.bytesMax, "seed \(seed)")
        // For the queue's bound another one may pay.
        for name in Self.names {
            let now = store.status.destinations[name]?.ledger.expired ?? 0
            let dropped = now - (expired[name] ?? 0)
            let overflow = configuration.rules(name).overflow
            #expect(dropped == 0 || overflow == .dropOldest, "seed \(seed)")
            expired[name] = now
            drop(Int(dropped), of: name)
        }
    }

    /// From the oldest calls, each wholly before the next.
    private func drop(_ count: Int, of name: String) {
        var left = count
        while left > 0, let oldest = waiting[name]?.keys.min() {
            let taken = min(left, waiting[name]?[oldest] ?? 0)
            take(taken, call: oldest, name)
            left -= taken
        }
        #expect(left == 0, "seed \(seed)")
    }

    private func take(_ count: Int, call: Int, _ name: String) {
        let left = (waiting[name]?[call] ?? 0) - count
        // A log that leaves after it must have been dropped, because a later one was.
        #expect(left >= 0, "seed \(seed)")
        waiting[name]?[call] = left == 0 ? nil : left
    }

    private func changeRules() {
        let name = destination()
        let lowest = store.status.destinations[name]?.bytes ?? 0
        var rules = Self.rules(&generator)
        // A lowered bound takes effect with the next batch; the model wants it to hold now.
        if let most = rules.bytesMax { rules.bytesMax = max(most, lowest) }
        configuration.destinations[name] = rules
        store.apply(configuration.destinations)
    }

    private func acknowledge() {
        guard let index = inFlight.indices.randomElement(using: &generator) else { return }
        store.acknowledge(inFlight.remove(at: index))
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
        store = try LogStore(configuration, journal: .silent)
        #expect(store.status.bytes == before.bytes, "seed \(seed)")
        for name in Self.names {
            let bytes = store.status.destinations[name]?.bytes
            #expect(bytes == before.destinations[name]?.bytes, "seed \(seed)")
        }
        consumer = Consumer(store)
        let again = inFlight
        inFlight = []
        for (outlet, packets) in Dictionary(grouping: again, by: \.stream.outlet) {
            let found = consumer.packets(packets.count, of: outlet)
            let expected = packets.map(\.packID).sorted()
            #expect(found.map(\.packID).sorted() == expected, "seed \(seed)")
            inFlight += found
        }
    }

    /// Waits until the queue has done what was asked, takes its packets and compares.
    private func settle() throws {
        for _ in 0..<2 { _ = store.store() }
        while consumer.waiting > 0 {
            let packet = consumer.next()[0]
            inFlight.append(packet)
            for number in try store.contents(of: packet) {
                #expect(!hasLeft[number], "seed \(seed)")
                hasLeft[number] = true
                sealed[packet.stream, default: []].append(number)
                take(1, call: call[number], packet.stream.destination)
            }
        }
        for (key, numbers) in sealed {
            #expect(numbers == numbers.sorted(), "seed \(seed)")
            #expect(Set(streams[key] ?? []).isSuperset(of: numbers), "seed \(seed)")
        }
        for name in Self.names {
            let ledger = store.status.destinations[name]?.ledger ?? Ledger()
            #expect(ledger.isClosed && ledger.accepted == accepted[name] ?? 0, "seed \(seed)")
            #expect(ledger.expired == expired[name] ?? 0, "seed \(seed)")
        }
    }
}
