import Logs
import Queue
import SQLite
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
        var scratch: [UInt8] = []
        var rows: [(content: [UInt8], logs: Int)] = []
        try packer.pack(batches, scratch: &scratch) { row throws(SQLiteError) in
            let block = row.block
            let content = try? LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
            rows.append((content ?? [], row.logs))
        }
        return rows
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
}
