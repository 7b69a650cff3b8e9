import Glibc
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct CrashTests {
    @Test(
        "A killed process loses nothing it answered for, and both destinations of a request have it",
        arguments: 0..<6
    )
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
        let (intake, ledger) = (store.status.intake, store.status.ledger)
        #expect(intake.isClosed && Int64(intake.copies) == ledger.accepted)
        #expect(intake.routed * 2 == intake.copies && intake.filtered * 10 == intake.routed)
        let consumer = Consumer(store)
        var found: [String: Set<Int>] = [:]
        for name in ["app", "other"] {
            found[name] = Set(readNumbers(directory.path + "/delivered-\(name)"))
            while store.status.destinations[name]?.ledger.queued ?? 0 > 0 {
                store.flush(name)
                for packet in consumer.packets(1, of: name) {
                    found[name]?.formUnion(try store.contents(of: packet))
                    store.end(packet, .stored)
                }
                for _ in 0..<2 { _ = store.store() }
            }
        }
        #expect(!answered.isEmpty)
        #expect(answered.isSubset(of: found["app"] ?? []))
        #expect(found["app"] == found["other"])
    }
}

/// Stores and delivers as fast as it can, writes down what it was answered and what it delivered,
/// and is killed in the middle of it.
private func live(_ path: String, from first: Int, killedAfter millis: UInt32) throws {
    var configuration = QueueConfiguration.small(
        path + "/data",
        packets: PacketLimits(rawBytes: 1 << 20, logs: 500, age: .milliseconds(2))
    )
    configuration.tuning.checkpointBytes = 100_000
    let store = try DurableQueue(configuration, journal: .silent)
    let answered = NumberFile(path + "/answered")
    let delivered = [
        "app": NumberFile(path + "/delivered-app"), "other": NumberFile(path + "/delivered-other"),
    ]
    store.connect { [weak store] news in
        guard let store else { return }
        for outlet in news.announced { store.request(4, for: outlet) }
        for packet in news.packets {
            guard let contents = try? store.contents(of: packet) else { continue }
            delivered[packet.stream.destination]?.append(contents)
            store.end(packet, .stored)
            store.request(1, for: packet.stream.destination)
        }
    }
    let killer = try Worker("killer") {
        usleep(millis * 1000)
        kill(getpid(), SIGKILL)
    }
    var next = first
    while true {
        let numbers = next..<next + 10
        next += 10
        let batches = ["app", "other"].map { name in
            Batch(stream: .named("\(next % 3)", destination: name), logs: logs(numbers))
        }
        let tally = IntakeTally(received: 11, filtered: 1, routed: 10, copies: 20)
        store.append(batches, identity: nil, sender: nil, tally: tally) { outcome in
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
