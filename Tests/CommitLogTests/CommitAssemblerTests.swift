import TestCommitLog
import Testing

@testable import CommitLog

@Suite struct CommitAssemblerTests {
    let log = MemoryCommitLog()

    init() throws {
        let body = [UInt8](repeating: 1, count: CommitWriter.partBytesMax + 1)
        var writer = try CommitWriter(log, after: .start, writer: 1, schema: 1)
        for _ in 0..<3 { try writer.publish(.changes, body) }
    }

    func read(after position: LogPosition = .start) throws -> (CommitReader, [UInt64]) {
        var reader = CommitReader(log, after: position)
        var numbers: [UInt64] = []
        while let commit = try reader.next() { numbers.append(commit.id.commit) }
        return (reader, numbers)
    }

    func expectDamage(_ comment: Comment? = nil) {
        #expect(comment) { try read() } throws: { ($0 as? CommitLogError)?.kind == .damaged }
    }

    /// Puts an entry in the place of another one, under its number.
    func replace(_ place: Int, with entry: CommitEntry) {
        log.damage { $0[place] = NumberedEntry(number: $0[place].number, bytes: entry.bytes) }
    }

    @Test("Reading goes on where it ended, also in the middle of a commit")
    func goingOn() throws {
        var (reader, numbers) = try read()
        #expect(numbers == [1, 2, 3, 4])
        #expect(try read(after: reader.position).1 == [])
        let whole = log.entries
        log.damage { $0.removeLast() }
        (reader, numbers) = try read()
        #expect(reader.position == LogPosition(entry: 5, commit: 3, epoch: 1))
        #expect(reader.end == LogPosition(entry: 6, commit: 3, epoch: 1))
        log.damage { $0 = whole }
        #expect(try reader.next()?.id.commit == 4)
        #expect(try read(after: LogPosition(entry: 3, commit: 2, epoch: 1)).1 == [3, 4])
    }

    @Test("A trimmed log begins anywhere")
    func trimmed() throws {
        // Also within a commit, which is skipped.
        for (first, commits) in [(2, [2, 3, 4]), (3, [3, 4]), (4, [3, 4]), (5, [4]), (6, [4])] {
            _ = try log.trim(before: UInt64(first))
            #expect(try read().1 == commits.map(UInt64.init))
        }
        _ = try log.trim(before: 7)
        expectDamage("of the only commit there is a part")
    }

    @Test("A missing entry is an error", arguments: 1..<6)
    func gaps(at place: Int) {
        log.damage { $0.remove(at: place) }
        expectDamage()
    }

    @Test("A missing commit is an error, also if no entry is missing")
    func missingCommits() {
        log.damage { entries in
            entries.removeSubrange(3...4)
            for place in 3..<5 {
                entries[place] = NumberedEntry(
                    number: UInt64(place + 1),
                    bytes: entries[place].bytes
                )
            }
        }
        expectDamage()
    }

    @Test("A damaged entry is an error, and so is one at another's place", arguments: 0..<7)
    func damage(at place: Int) {
        let whole = log.entries
        log.damage { entries in
            var bytes = entries[place].bytes
            bytes[bytes.count - 1] ^= 1
            entries[place] = NumberedEntry(number: entries[place].number, bytes: bytes)
        }
        expectDamage()
        log.damage { entries in
            entries = whole
            let other = entries[(place + 1) % 7].bytes
            entries[place] = NumberedEntry(number: entries[place].number, bytes: other)
        }
        expectDamage()
    }

    @Test("Entries of an earlier epoch after the beginning of a later one are an error")
    func earlierEpochs() throws {
        let entry = log.entries[1].bytes
        _ = try CommitWriter(log, after: try read().0.end, writer: 2, schema: 1)
        log.damage { $0.append(NumberedEntry(number: 9, bytes: entry)) }
        expectDamage()
    }

    @Test("Numbers that no writer reaches are damage, and overflow nothing")
    func hostileNumbers() throws {
        for (epoch, commit) in [(0, 1), (1, 0), (UInt64.max, 1), (1, UInt64.max)]
            as [(UInt64, UInt64)]
        {
            let id = AppendID(writer: 1, epoch: epoch, commit: commit)
            replace(0, with: CommitEntry(.epoch, schema: 1, id: id))
            expectDamage("epoch \(epoch), commit \(commit)")
        }
        let id = AppendID(writer: 1, epoch: 1, commit: 1)
        replace(0, with: CommitEntry(.changes, schema: 1, id: id, part: 0, parts: 257))
        expectDamage("more parts than any commit has")
    }
}

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
