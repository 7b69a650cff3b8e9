import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite(.timeLimit(.minutes(10))) struct SealingTests {
    let directory = TemporaryDirectory()

    private func open(_ limits: PacketLimits) throws -> DurableQueue {
        try directory.open(.small(directory.path, packets: limits))
    }

    @Test("A stream that reaches its size is sealed; the rest waits")
    func size() throws {
        let store = try open(PacketLimits(rawBytes: 1000, logs: 4096, age: .seconds(3600)))
        let consumer = Consumer(store)
        for start in 0..<30 {
            _ = store.store(Batch(logs(start..<start + 1, filling: 90)))
        }
        let packets = consumer.packets(2)
        #expect(packets.allSatisfy { $0.rawBytes <= 1000 && $0.rawBytes > 900 })
        #expect(
            try store.contents(of: packets[0]) + store.contents(of: packets[1]) == Array(0..<20)
        )
        store.request(5, for: "app")
        #expect(store.status.ledger.queued == 30)
        #expect(consumer.waiting == 0)
    }

    @Test("A stream that reaches its number of logs is sealed")
    func count() throws {
        let store = try open(PacketLimits(rawBytes: 1 << 20, logs: 100, age: .seconds(3600)))
        let consumer = Consumer(store)
        _ = store.store(Batch(logs(0..<250)))
        let packets = consumer.packets(2)
        #expect(packets.map(\.logCount) == [100, 100])
        store.flush("app")
        store.request(1, for: "app")
        #expect(try consumer.next().map(store.contents) == [Array(200..<250)])
    }

    @Test("A stream is sealed when its oldest log has waited long enough")
    func age() throws {
        let store = try open(PacketLimits(age: .milliseconds(30)))
        let consumer = Consumer(store, requesting: 1)
        let start = Moment.now
        _ = store.store(Batch(logs(0..<3)))
        _ = store.store(Batch(logs(3..<5)))
        #expect(try consumer.next().map(store.contents) == [Array(0..<5)])
        #expect(Moment.now - start >= .milliseconds(30))
    }

    @Test("Rows wait while delivery asks for no packets, and packets are full when it asks")
    func gathering() throws {
        let store = try open(PacketLimits(rawBytes: 1 << 20, logs: 50, age: .milliseconds(1)))
        for start in stride(from: 0, to: 100, by: 10) {
            _ = store.store(Batch(logs(start..<start + 10)))
        }
        let consumer = Consumer(store)
        #expect(store.status.packets == 0)
        #expect(consumer.packets(2).map(\.logCount) == [50, 50])
    }

    @Test("No more packets are handed over than were asked for, and only of that destination")
    func demand() throws {
        let store = try open(PacketLimits(rawBytes: 1 << 20, logs: 10, age: .seconds(3600)))
        let consumer = Consumer(store)
        _ = store.store(
            Batch(logs(0..<50)),
            Batch(stream: .named("a", destination: "other"), logs: logs(50..<100))
        )
        #expect(consumer.packets(3).allSatisfy { $0.stream.destination == "app" })
        _ = store.store(Batch(stream: .named("b"), logs: logs(100..<101)))
        #expect(consumer.waiting == 0)
        #expect(store.status.destinations["app"]?.packets == 3)
        #expect(consumer.packets(1, of: "other")[0].stream.destination == "other")
    }

    @Test("Ripe streams of an outlet are sealed in turn")
    func turns() throws {
        let store = try open(PacketLimits(rawBytes: 1 << 20, logs: 10, age: .seconds(3600)))
        let consumer = Consumer(store)
        _ = store.store(
            Batch(stream: .named("loud"), logs: logs(0..<100)),
            Batch(stream: .named("quiet"), logs: logs(100..<120))
        )
        let topics = consumer.packets(4).map(\.stream.trailer.topic)
        #expect(topics == ["loud", "quiet", "loud", "quiet"])
    }

    @Test("Packets of a stream count up under one prefix, as SLS's own do")
    func packIDs() throws {
        let store = try open(PacketLimits(rawBytes: 1 << 20, logs: 1, age: .seconds(3600)))
        let consumer = Consumer(store)
        _ = store.store(Batch(logs(0..<11)))
        let ids = consumer.packets(11).map(\.packID)
        let prefix = try #require(ids.first).prefix(16)
        #expect(prefix.allSatisfy { "0123456789ABCDEF".contains($0) })
        #expect(ids[9...] == ["\(prefix)-A", "\(prefix)-B"])
    }

    @Test("A flush seals what waits, not what comes after it")
    func flush() throws {
        let store = try open(PacketLimits(rawBytes: 1 << 20, logs: 100, age: .seconds(3600)))
        let consumer = Consumer(store)
        _ = store.store(Batch(logs(0..<10)))
        store.flush("app")
        #expect(try consumer.packets(1).map(store.contents) == [Array(0..<10)])
        store.request(1, for: "app")
        _ = store.store(Batch(logs(10..<11)))
        _ = store.store(Batch(logs(11..<12)))
        #expect(store.status.packets == 1)
        store.flush("app")
        #expect(try consumer.next().map(store.contents) == [[10, 11]])
    }

    @Test("A log larger than a packet may be goes alone")
    func largeLog() throws {
        let store = try open(PacketLimits(rawBytes: 1000, logs: 4096, age: .seconds(3600)))
        let consumer = Consumer(store)
        let mixed = logs([1], filling: 10).bytes + logs([2], filling: 5000).bytes
        let bytes = mixed + logs([3], filling: 10).bytes
        _ = store.store(Batch(EncodedLogs(bytes: bytes, count: 3)))
        store.flush("app")
        #expect(try consumer.packets(3).map(store.contents) == [[1], [2], [3]])
    }

    @Test("Batches of one commit share rows, those of other streams between them do not matter")
    func sharedRows() throws {
        let store = try open(PacketLimits())
        let batches = (0..<20).map { index in
            Batch(stream: .named(index % 2 == 0 ? "even" : "odd"), logs: logs([index]))
        }
        #expect(store.store(batches) == .stored)
        #expect(store.status.rows == 2)
        let consumer = Consumer(store)
        store.flush("app")
        let contents = try Set(consumer.packets(2).map(store.contents))
        #expect(
            contents == [
                Array(stride(from: 0, to: 20, by: 2)), Array(stride(from: 1, to: 20, by: 2)),
            ]
        )
    }

    private let packer = RowPacker(rawBytesMax: 1000, logsMax: .max)

    private func staged(_ logs: EncodedLogs, by packer: RowPacker) -> StagedBatches.Staged {
        StagedBatches.Staged(logs: logs, rows: packer.compressAlone(logs))
    }

    private func rows(
        of batches: [StagedBatches.Staged],
        by packer: RowPacker
    ) throws -> [(content: [UInt8], logs: Int)] {
        var rows: [PlannedRow] = []
        packer.plan(batches, to: &rows)
        return try RowPress(hasHelper: false).compress(rows).map { row in
            let block = row.block
            return (try LZ4.decompress(block.compressed, rawBytes: block.rawBytes), row.logs)
        }
    }

    @Test("A batch that fills most of a row has it alone, and keeps its place")
    func alone() throws {
        let (first, large, last) = (logs(0..<2), logs(2..<30), logs(30..<32))
        #expect(packer.compressAlone(first).isEmpty)
        #expect(large.bytes.count > 500 && large.bytes.count <= 1000)
        let batches = [first, first, large, last, last].map { staged($0, by: packer) }
        let rows = try rows(of: batches, by: packer)
        #expect(rows.map(\.logs) == [4, 28, 4])
        let contents = [first.bytes + first.bytes, large.bytes, last.bytes + last.bytes]
        #expect(rows.map(\.content) == contents)
    }

    @Test("A batch that is too large for a row is compressed as several")
    func several() throws {
        let huge = logs(0..<100)
        let batch = staged(huge, by: packer)
        #expect(batch.rows.count > 1)
        #expect(batch.rows.allSatisfy { $0.block.rawBytes <= 1000 })
        let rows = try rows(of: [batch], by: packer)
        #expect(rows.flatMap(\.content) == huge.bytes)
        #expect(rows.reduce(0) { $0 + $1.logs } == 100)
    }

    @Test(
        "Rows that are too large for a packet of their destination are made again",
        arguments: [
            RowPacker(rawBytesMax: 200, logsMax: .max), RowPacker(rawBytesMax: 1000, logsMax: 5),
        ]
    )
    func smallPackets(_ small: RowPacker) throws {
        let large = logs(0..<28)
        let rows = try rows(of: [staged(large, by: packer)], by: small)
        #expect(rows.count > 1)
        #expect(rows.allSatisfy { $0.content.count <= small.rawBytesMax })
        #expect(rows.allSatisfy { $0.logs <= small.logsMax })
        #expect(rows.flatMap(\.content) == large.bytes)
    }

    @Test("Two threads make the same rows as one", arguments: [1, 3, 4, 5, 100])
    func twoThreads(count: Int) {
        let (alone, press) = (RowPress(hasHelper: false), RowPress(hasHelper: true))
        for round in 0..<50 {
            var rows: [PlannedRow] = []
            for number in 0..<count {
                let staged = (0..<3).map { part in
                    let first = round + number + part
                    return StagedBatches.Staged(logs: logs(first..<first + 9), rows: [])
                }
                packer.plan(staged, to: &rows)
            }
            let (expected, made) = (alone.compress(rows), press.compress(rows))
            #expect(made.map(\.logs) == expected.map(\.logs))
            #expect(made.map(\.block.compressed) == expected.map(\.block.compressed))
        }
        #expect(alone.helped == 0)
        if count < RowPress.rowsMin { #expect(press.helped == 0) }
    }

    @Test("The second thread takes its part of a large commit")
    func helps() {
        let press = RowPress(hasHelper: true)
        let large = EncodedLogs(
            bytes: (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 * $0) },
            count: 1
        )
        let rows = Array(repeating: PlannedRow.whole(large), count: 20)
        #expect(eventually { press.compress(rows).count == 20 && press.helped > 0 })
    }
}
