import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

extension QueueConfiguration {
    /// Small and quick: no linger, no spare pages, no space left free.
    static func small(
        _ directory: String,
        packets: PacketLimits = PacketLimits(rawBytes: 1 << 20, logs: 4096, age: .seconds(3600))
    ) -> QueueConfiguration {
        var configuration = QueueConfiguration(
            directory: directory,
            freeBytesMin: 0,
            destinations: [
                "app": DestinationRules(packet: packets),
                "other": DestinationRules(packet: packets),
            ]
        )
        configuration.tuning.linger = .zero
        configuration.tuning.spareBytes = 0
        configuration.tuning.housekeeping = .milliseconds(20)
        configuration.tuning.retryMin = .milliseconds(10)
        configuration.tuning.retryMax = .milliseconds(50)
        return configuration
    }
}

extension Outlet {
    static func named(_ logstore: String, destination: String = "app") -> Outlet {
        Outlet(destination: destination, logstore: logstore)
    }
}

extension StreamKey {
    static func named(
        _ name: String,
        destination: String = "app",
        logstore: String = "app-log"
    ) -> StreamKey {
        StreamKey(
            destination: destination,
            logstore: logstore,
            trailer: GroupTrailer(topic: name, source: "", tags: [])
        )
    }
}

/// Logs that can be told apart: each carries a number and some filling.
func logs(_ numbers: some Sequence<Int>, filling: Int = 20) -> EncodedLogs {
    logs(numbers) { number in
        (0..<filling).map { UInt8(97 + (number &* 7 &+ $0) % 26) }
    }
}

/// The same with a filling that does not become smaller by compression.
func logs(_ numbers: some Sequence<Int>, noise bytes: Int) -> EncodedLogs {
    logs(numbers) { number in
        var generator = SeededGenerator(seed: UInt64(number))
        return (0..<bytes).map { _ in UInt8.random(in: 0...255, using: &generator) }
    }
}

private func logs(
    _ numbers: some Sequence<Int>,
    filling: (Int) -> [UInt8]
) -> EncodedLogs {
    var bytes: [UInt8] = []
    var count = 0
    for number in numbers {
        var body = Array("\(number);".utf8)
        body += filling(number)
        bytes.append(0x0A)
        var length = body.count
        while length >= 0x80 {
            bytes.append(UInt8(length & 0x7F) | 0x80)
            length >>= 7
        }
        bytes.append(UInt8(length))
        bytes += body
        count += 1
    }
    return EncodedLogs(bytes: bytes, count: count)
}

/// The numbers that `logs` put in, in order.
func numbers(_ blocks: [StoredBlock]) throws -> [Int] {
    var found: [Int] = []
    for block in blocks {
        let raw = try LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
        try raw.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            while let entry = try entries.next() {
                // Behind the tag and the length, whose last byte is the first below 0x80.
                let body = bytes[entry].dropFirst().drop { $0 >= 0x80 }.dropFirst()
                let digits = body.prefix { $0 != 0x3B }
                found.append(try #require(Int(String(decoding: digits, as: UTF8.self))))
            }
        }
    }
    return found
}

extension DurableQueue {
    /// Appends and waits for the answer.
    func store(_ batches: Batch...) -> AppendOutcome {
        let answer = Awaited<AppendOutcome>()
        append(batches) { answer.put($0) }
        return answer.take(1)[0]
    }

    func contents(of packet: SealedPacket) throws -> [Int] {
        try numbers(blocks(of: packet))
    }

    /// Asks for so many packets of each logstore that tests use; of those that have had no logs
    /// nothing is remembered.
    func request(_ count: Int, for destination: String) {
        for logstore in ["app-log", "x", "y", "z", "0", "1", "2"] {
            request(count, for: .named(logstore, destination: destination))
        }
    }

    /// Asks for so many packets of each outlet as soon as it is known, as delivery does.
    func requestOnceKnown(_ count: Int) {
        announceOutlets { [weak self] outlets in
            for outlet in outlets { self?.request(count, for: outlet) }
        }
    }

    /// Waits until the status says so.
    func wait(until isSo: (QueueStatus) -> Bool) {
        while !eventually({ isSo(status) }) {}
    }
}

/// Takes packets as delivery would.
final class Consumer: Sendable {
    private let arrived = Awaited<SealedPacket>()
    private let store: DurableQueue

    init(_ store: DurableQueue) {
        self.store = store
        let arrived = arrived
        store.deliver { packets in
            for packet in packets { arrived.put(packet) }
        }
    }

    /// Asks for so many packets and waits for them.
    func packets(_ count: Int, of destination: String = "app") -> [SealedPacket] {
        store.request(count, for: destination)
        return arrived.take(count)
    }

    /// The same of one outlet, which must have been announced.
    func packets(_ count: Int, of outlet: Outlet) -> [SealedPacket] {
        store.request(count, for: outlet)
        return arrived.take(count)
    }

    /// Waits for packets that were asked for before.
    func next(_ count: Int = 1) -> [SealedPacket] { arrived.take(count) }

    /// The next packet, or nil when none comes within some milliseconds.
    func nextSoon() -> SealedPacket? { arrived.takeOne(within: .milliseconds(5)) }

    var waiting: Int { arrived.count }
}

/// Opens the store again, as the owner's loop does, until it is open.
func reopens(_ owner: QueueOwner) -> Bool {
    eventually {
        owner.reopen()
        return owner.store != nil
    }
}
