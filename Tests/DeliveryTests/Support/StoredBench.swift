import Configuration
import Logs
import Queue
import SQLiteQueue
import System
import TestSupport

@testable import Delivery

/// The real queue on a disk, delivered to a sandbox, in as many lives as a test wants.
final class StoredBench {
    let sandbox: TestSandbox
    private let directory: TemporaryDirectory
    private let rules: DestinationRules
    private let adjusting: (inout Destination) -> Void
    private(set) var store: DurableQueue
    private(set) var forwarder: Forwarder

    init(
        _ sandbox: TestSandbox,
        _ rules: DestinationRules,
        adjusting: @escaping (inout Destination) -> Void = { _ in }
    ) throws {
        self.sandbox = sandbox
        self.rules = rules
        self.adjusting = adjusting
        directory = TemporaryDirectory()
        store = try Self.open(directory, rules)
        forwarder = try Self.forwarder(store, sandbox, adjusting)
    }

    private static func open(
        _ directory: TemporaryDirectory,
        _ rules: DestinationRules
    ) throws -> DurableQueue {
        var configuration = QueueConfiguration(directory: directory.path, freeBytesMin: 0)
        configuration.destinations = ["app": rules]
        return try DurableQueue(configuration, journal: .silent)
    }

    private static func forwarder(
        _ store: DurableQueue,
        _ sandbox: TestSandbox,
        _ adjusting: (inout Destination) -> Void
    ) throws -> Forwarder {
        var settings = try Samples.destination(port: sandbox.port)
        adjusting(&settings)
        return try Forwarder.started(
            [settings],
            source: store,
            credentials: { _ in TestSandbox.key },
            now: { TestSandbox.time }
        )
    }

    /// Puts the samples of so many seeds in the queue, each as a batch of its own, and waits for
    /// the disk.
    func append(_ seeds: Range<Int>, logstore: (Int) -> String = { _ in "app-log" }) throws {
        let settled = SharedValue((stored: 0, refused: 0))
        for seed in seeds {
            let stream = StreamKey(
                destination: "app",
                logstore: logstore(seed),
                trailer: GroupTrailer(topic: "t")
            )
            let logs = EncodedLogs(bytes: Samples.logs(seed: seed), count: Samples.logsPerRow)
            store.append([Batch(stream: stream, logs: logs)]) { outcome in
                settled.change { if outcome == .stored { $0.stored += 1 } else { $0.refused += 1 } }
            }
        }
        settled.wait { $0.stored + $0.refused == seeds.count }
        precondition(settled.now.refused == 0, "the queue has room for a test")
    }

    /// Leaves what is in flight to its fate and starts anew.
    func restart() throws {
        forwarder.stop(within: .zero)
        store.close()
        store = try Self.open(directory, rules)
        forwarder = try Self.forwarder(store, sandbox, adjusting)
    }

    /// Waits until so many logs are delivered, in all lives together.
    func waitUntilDelivered(_ logs: Int, within patience: Duration = .seconds(40)) -> Bool {
        eventually(within: patience) { store.status.ledger.delivered >= Int64(logs) }
    }

    func stop() {
        forwarder.stop(within: .seconds(5))
        store.close()
        sandbox.stop()
        directory.remove()
    }
}
