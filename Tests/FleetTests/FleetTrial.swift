import CommitLog
import Logs
import Queue
import SQLiteQueue
import System
import TestCommitLog
import TestSupport
import Testing

@testable import Fleet

/// Gateways of one cluster in memory, with a directory and a connection each. Their clocks run a
/// hundred times faster.
final class FleetTrial {
    let cluster = MemoryCluster()
    let recorder = JournalRecorder()
    private var fleets: [ShardFleet] = []
    private var sinks: [Sink] = []
    /// Their directories stay as long as their gateways run.
    private var machines: [Machine] = []

    /// Stops all that it has started.
    func end() {
        for sink in sinks { sink.stop() }
        for fleet in fleets.reversed() { fleet.close() }
    }

    /// One gateway, which may have several lives.
    final class Machine {
        let node: String
        let view: MemoryCluster
        let directory = TemporaryDirectory()
        var destinations = ["app"]
        var keyFingerprint: String?
        var returnTime = Duration.milliseconds(500)
        var replaceAfter = Duration.milliseconds(600)
        /// So many times slower than the others of the trial.
        var slowness = 1

        init(_ node: String, _ cluster: MemoryCluster) {
            self.node = node
            view = cluster.view()
        }

        func settings() -> FleetSettings {
            var queue = QueueConfiguration(
                directory: directory.path,
                freeBytesMin: 0,
                destinations: Dictionary(
                    uniqueKeysWithValues: destinations.map { ($0, DestinationRules()) }
                )
            )
            queue.tuning.linger = .zero
            queue.tuning.spareBytes = 0
            queue.tuning.housekeeping = .milliseconds(20)
            queue.tuning.retryMin = .milliseconds(5)
            queue.tuning.retryMax = .milliseconds(20)
            queue.commitRetries.timeout = .milliseconds(100)
            queue.commitRetries.pauseMin = .milliseconds(1)
            var settings = FleetSettings(node: node, directory: directory.path, queue: queue)
            settings.keyFingerprint = keyFingerprint
            settings.timing.heartbeat = .milliseconds(30) * slowness
            settings.timing.deadAfter = .milliseconds(240) * slowness
            settings.timing.trustedFor = .milliseconds(180) * slowness
            settings.timing.gap = .milliseconds(160) * slowness
            settings.timing.returnTime = returnTime
            settings.timing.unlisted = .milliseconds(300)
            settings.timing.replaceAfter = replaceAfter
            settings.timing.rivalWait = .milliseconds(20) * slowness
            settings.timing.retry = .milliseconds(100)
            return settings
        }
    }

    func machine(_ node: String) -> Machine {
        let machine = Machine(node, cluster)
        machines.append(machine)
        return machine
    }

    /// Starts a gateway, whose log may be busy with its last life.
    func start(_ machine: Machine) throws -> ShardFleet {
        var started: Result<ShardFleet, CommitLogError>?
        let opening = try FleetOpening(machine.settings(), machine.view, recorder.journal)
        _ = eventually {
            started = Result { () throws(CommitLogError) in try opening.open() }
            if case .failure(let problem) = started { return problem.kind != .unreachable }
            return true
        }
        let fleet = try #require(started).get()
        fleets.append(fleet)
        return fleet
    }

    /// Takes all that a gateway delivers.
    func sink(_ fleet: ShardFleet, destinations: Set<String> = ["app"]) throws -> Sink {
        let sink = try Sink(fleet, destinations: destinations)
        sinks.append(sink)
        return sink
    }

    /// All that gateways have counted, and what lies in shards without one.
    var shards: [String] {
        get throws { try openView().shards().map(\.name).sorted() }
    }

    func openView() throws -> MemoryCluster {
        let view = cluster.view()
        try view.open()
        return view
    }
}

func logs(_ numbers: some Sequence<Int>) -> EncodedLogs {
    var logs = EncodedLogs()
    let time = LogTime(seconds: UInt32(WallTime.now.seconds))
    for number in numbers { logs.append(time: time, fields: [("number", "\(number)")]) }
    return logs
}

func numbers(_ blocks: [StoredBlock]) throws -> [Int] {
    try blocks.flatMap { block in
        let raw = try LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
        return try raw.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            var found: [Int] = []
            while let entry = try entries.next() {
                let log = try LogEntry(UnsafeRawBufferPointer(rebasing: bytes[entry]))
                found.append(try #require(Int(log.fields[0].value)))
            }
            return found
        }
    }
}

extension StreamKey {
    static func named(_ logstore: String, destination: String = "app") -> StreamKey {
        StreamKey(
            destination: destination,
            logstore: logstore,
            trailer: GroupTrailer(topic: "", source: "", tags: [])
        )
    }
}

extension GatewayQueue {
    /// Appends a batch, and waits for the answer.
    func store(_ batch: Batch, identity: BatchIdentity? = nil) -> AppendOutcome {
        let answer = Awaited<AppendOutcome>()
        append([batch], identity: identity) { answer.put($0) }
        return answer.take(1)[0]
    }
}

extension ShardFleet {
    /// Appends logs with these numbers, and waits for the answer.
    func store(
        _ numbers: some Sequence<Int>,
        _ logstore: String = "log",
        destination: String = "app",
        identity: BatchIdentity? = nil
    ) -> AppendOutcome {
        let stream = StreamKey.named(logstore, destination: destination)
        return store(Batch(stream: stream, logs: logs(numbers)), identity: identity)
    }

    /// Stores a log that is dead on arrival.
    func storeDead(_ number: Int) -> AppendOutcome {
        let reason = DeathReason(code: "Wrong", message: "it is wrong")
        let dead = Batch.Dead(logs: logs([number]), reason: reason)
        return store(Batch(stream: .named("log"), logs: EncodedLogs(), dead: [dead]))
    }

    /// The shard that takes its logs.
    func home() throws -> String { try #require(status.fleet?.shards.first?.name) }

    func has(_ shard: String) -> Bool {
        status.fleet?.shards.contains { $0.name == shard } ?? false
    }

    func storeUntilTaken(_ numbers: some Sequence<Int>) -> Bool {
        eventually { store(numbers) == .stored }
    }

    func wait(until isSo: (QueueStatus) -> Bool) -> Bool { eventually { isSo(status) } }
}

/// Takes packets as delivery does, and remembers the numbers of all logs that it was given.
final class Sink: Sendable {
    private struct State {
        var numbers: [Int] = []
        var unrequested = 0
        var announced: [Outlet] = []
        var retired: [Outlet] = []
        var packetIDs: [String] = []
        var withdrawn = 0
        var late = 0
    }

    private let state = SharedValue(State())
    private let fleet: ShardFleet
    private let mailbox: Mailbox<SealedPacket>
    private let wake: WakeUp
    private let isOver = SharedValue(false)
    private let worker = Locked<Worker?>(nil)

    init(_ fleet: ShardFleet, destinations: Set<String> = ["app"]) throws {
        self.fleet = fleet
        let wake = try WakeUp()
        self.wake = wake
        let mailbox = Mailbox<SealedPacket> { wake.signal() }
        self.mailbox = mailbox
        let state = state
        let own = Worker.self
        let started = try own.init("sink") { [self] in
            while !isOver.now {
                for packet in mailbox.takeAll() { take(packet, destinations) }
                wake.wait(timeout: .milliseconds(100))
            }
        }
        worker.withLock { $0 = started }
        fleet.connect { [weak fleet] news in
            switch news {
            case .packets(let packets): for packet in packets { mailbox.post(packet) }
            case .retired(let outlets): state.change { $0.retired += outlets }
            case .recalled: break
            case .announced(let outlets):
                state.change { $0.announced += outlets }
                for outlet in outlets where destinations.contains(outlet.destination) {
                    fleet?.request(4, for: outlet)
                }
            }
        }
    }

    private func take(_ packet: SealedPacket, _ destinations: Set<String>) {
        guard destinations.contains(packet.stream.destination) else {
            state.change { $0.unrequested += packet.isUnrequested ? 1 : 0 }
            return fleet.end(packet, .recalled)
        }
        do {
            let found = try numbers(fleet.blocks(of: packet))
            fleet.end(packet, .stored)
            state.change { state in
                state.numbers += found
                state.packetIDs.append(packet.packID)
                state.unrequested += packet.isUnrequested ? 1 : 0
            }
            if !packet.isUnrequested { fleet.request(1, for: packet.stream.outlet) }
        } catch let error as QueueError where error.kind == .withdrawn {
            state.change { $0.withdrawn += 1 }
        } catch {
            state.change { $0.late += 1 }
            mailbox.post(packet)
        }
    }

    /// In the order of their arrival.
    var numbers: [Int] { state.now.numbers }
    var packetIDs: [String] { state.now.packetIDs }
    var unrequested: Int { state.now.unrequested }
    var announced: [Outlet] { state.now.announced }
    var retired: [Outlet] { state.now.retired }
    var withdrawn: Int { state.now.withdrawn }
    var late: Int { state.now.late }

    func waitFor(_ expected: some Sequence<Int>) -> Bool {
        let all = Set(expected)
        return state.wait { all.isSubset(of: $0.numbers) }
    }

    private func numbers(_ blocks: [StoredBlock]) throws -> [Int] { try FleetTests.numbers(blocks) }

    func stop() {
        isOver.change { $0 = true }
        wake.signal()
        worker.withLock { $0.take() }?.join()
    }
}

extension PacketSource where Self: AnyObject {
    /// Requests so many packets of each outlet. Returns where they arrive.
    func deliver(_ count: Int) -> Awaited<SealedPacket> {
        let arrived = Awaited<SealedPacket>()
        connect { [weak self] news in
            switch news {
            case .packets(let packets): for packet in packets { arrived.put(packet) }
            case .announced(let outlets):
                for outlet in outlets { self?.request(count, for: outlet) }
            case .retired, .recalled: break
            }
        }
        return arrived
    }
}
