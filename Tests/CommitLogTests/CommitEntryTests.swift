import Testing

@testable import CommitLog

@Suite struct CommitEntryTests {
    let entry = CommitEntry(
        .changes,
        schema: 9,
        id: AppendID(writer: 0x0102_0304_0506_0708, epoch: 3, commit: 77),
        part: 1,
        parts: 2,
        body: [1, 2, 3, 4, 5]
    )

    @Test("An entry is read as it was written, also without a body")
    func wholeEntries() throws {
        #expect(try CommitEntry(entry.bytes) == entry)
        var empty = entry
        empty.body = []
        #expect(try CommitEntry(empty.bytes) == empty)
        #expect(empty.bytes.count == CommitEntry.headBytes)
    }

    @Test("No flipped bit goes unseen, and no missing byte")
    func damage() {
        let bytes = entry.bytes
        for bit in 0..<bytes.count * 8 {
            var changed = bytes
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: CommitLogError.self, "bit \(bit)") { try CommitEntry(changed) }
        }
        for count in 0..<bytes.count {
            #expect(throws: CommitLogError.self, "\(count) bytes") {
                try CommitEntry(Array(bytes[..<count]))
            }
        }
        #expect(throws: CommitLogError.self) { try CommitEntry(bytes + [0]) }
    }

    @Test("The bytes of an entry stay as they are")
    func vector() {
        let expected: [UInt8] = [
            0x53, 0x4C, 0x51, 0x4C, 1, 1, 0, 0, 9, 0, 0, 0,  // SLQL, format, kind, schema
            8, 7, 6, 5, 4, 3, 2, 1, 3, 0, 0, 0, 0, 0, 0, 0, 77, 0, 0, 0, 0, 0, 0, 0,
            1, 0, 0, 0, 2, 0, 0, 0,
        ]
        // CRC-32C of all other bytes, computed by another program.
        let sum: [UInt8] = [0xB0, 0xA9, 0x69, 0x2D]
        #expect(entry.bytes == expected + sum + [1, 2, 3, 4, 5])
    }
}
