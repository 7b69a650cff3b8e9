import Glibc
import Logs
import Queue
import SLS
import SQLiteQueue
import System
import TestSupport
import Testing

@testable import Delivery

@Suite(.timeLimit(.minutes(1))) struct StoredPacketsTests {
    @Test("Packets of the real queue are delivered, also those that are read again from disk")
    func delivers() throws {
        let directory = TemporaryDirectory()
        var configuration = QueueConfiguration(directory: directory.path, freeBytesMin: 0)
        let limits = PacketLimits(logs: 100, age: .milliseconds(10))
        configuration.destinations = ["app": DestinationRules(packet: limits)]
        let store = try DurableQueue(configuration, journal: .silent)
        // Every other request fails, so that content is asked for a second time.
        let server = try ScriptedServer { _, number in
            number % 2 == 0 ? .answer(503, code: "ServerBusy") : .stored
        }
        let recorder = JournalRecorder()
        let forwarder = try Forwarder(
            [Samples.destination(port: server.port, compression: .none)],
            source: store,
            credentials: { _ in Samples.credential },
            journal: recorder.journal
        )
        try forwarder.start()
        let stored = SharedValue(0)
        let trailer = GroupTrailer(topic: "t", source: "s", tags: [("a", "b")])
        for seed in 0..<20 {
            let batch = Batch(
                stream: StreamKey(destination: "app", logstore: "app-log", trailer: trailer),
                logs: EncodedLogs(bytes: Samples.logs(seed: seed), count: Samples.logsPerRow)
            )
            store.append([batch]) { outcome in
                if outcome == .stored { stored.change { $0 += 1 } }
            }
        }
        #expect(stored.wait { $0 == 20 })
        let logs = 20 * Samples.logsPerRow
        #expect(eventually { forwarder.status[0].sentLogs >= logs })
        forwarder.stop(within: .seconds(5))
        store.close()
        server.stop()
        let status = forwarder.status[0]
        #expect(status.sentLogs == logs)
        #expect(status.isolated == 0)
        #expect((status.failures[.server] ?? 0) > 0)
        #expect(store.status.ledger.delivered == Int64(logs))
        // Each packet's content was the same each time it was sent.
        let bodies = Set(server.requests.now.map(\.body))
        #expect(bodies.count == status.sentPackets)
    }
}
