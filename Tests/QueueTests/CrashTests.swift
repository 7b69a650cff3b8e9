import Glibc
import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(2))) struct CrashTests {
    @Test("A killed process loses nothing it answered for", arguments: 0..<6)
    func killed(round: Int) async throws {
        let directory = TemporaryDirectory()
        for life in 0..<2 {
            let path = directory.path
            let millis = UInt32(20 + (round * 2 + life) * 37 % 200)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, life = life as Int, millis = millis as UInt32] in
                try live(path, from: life * 1_000_000, killedAfter: millis)
            }
        }
        let store = try DurableQueue(.small(directory.path + "/data"), journal: .silent)
        defer { store.close() }
        #expect(store.status.ledger.isClosed)
        #expect(store.status.salvages == 0 && store.status.repairedLogs == 0)
        let answered = Set(readNumbers(directory.path + "/answered"))
        var found = readNumbers(directory.path + "/delivered")
        let consumer = Consumer(store)
        while store.status.ledger.queued > 0 {
            store.flush("app")
            for packet in consumer.packets(1) {
                found += try store.contents(of: packet)
                store.acknowledge(packet)
            }
            for _ in 0..<2 { _ = store.store() }
        }
        #expect(!answered.isEmpty)
        #expect(answered.isSubset(of: found))
    }
}

/// Stores and delivers as fast as it can, writes down what it was answered and what it delivered, and is
/// killed in the middle of it.
private func live(_ path: String, from first: Int, killedAfter millis: UInt32) throws {
    var configuration = QueueConfiguration.small(
        path + "/data",
        packets: PacketLimits(rawBytes: 1 << 20, logs: 500, age: .milliseconds(2))
    )
    configuration.tuning.checkpointBytes = 100_000
    let store = try DurableQueue(configuration, journal: .silent)
    let answered = NumberFile(path + "/answered")
    let delivered = NumberFile(path + "/delivered")
    store.deliver { packets in
        for packet in packets {
            guard let contents = try? store.contents(of: packet) else { continue }
            delivered.append(contents)
            store.acknowledge(packet)
        }
        store.request(packets.count, for: "app")
    }
    store.requestOnceKnown(4)
    let killer = try Worker("killer") {
        usleep(millis * 1000)
        kill(getpid(), SIGKILL)
    }
    var next = first
    while true {
        let numbers = next..<next + 10
        next += 10
        let stream = StreamKey.named("\(next % 3)")
        store.append([Batch(stream: stream, logs: logs(numbers))]) { outcome in
            if outcome == .stored { answered.append(Array(numbers)) }
        }
        if next % 500 == 0 { usleep(100) }
    }
    killer.join()
}

/// Numbers in a file, written at once: what is in the page cache survives a killed process.
private final class NumberFile: Sendable {
    private let descriptor: CInt

    init(_ path: String) {
        descriptor = open(path, O_CREAT | O_WRONLY | O_APPEND, 0o600)
    }

    func append(_ numbers: [Int]) {
        _ = numbers.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }
}

private func readNumbers(_ path: String) -> [Int] {
    readFile(path).withUnsafeBytes { bytes in
        (0..<bytes.count / 8).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int.self) }
    }
}
