import Logs
import Queue
import TestSupport
import Testing

@testable import SQLiteQueue

@Suite struct RowPackerTests {
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
