import TestCommitLog
import Testing

@testable import CommitLog

@Suite struct CommitReaderTests {
    let log = MemoryCommitLog()

    init() throws {
        let body = [UInt8](repeating: 1, count: CommitWriter.partBytesMax + 1)
        var writer = try CommitWriter(log, behind: .start, lastEpoch: 0, schema: 1)
        for _ in 0..<3 { try writer.publish(.changes, body) }
    }

    func read(behind position: LogPosition = .start) throws -> (CommitReader, [UInt64]) {
        let reader = CommitReader(behind: position, epoch: position.commit > 0 ? 1 : 0)
        var cursor = CommitCursor(log, reader)
        var numbers: [UInt64] = []
        while let commit = try cursor.next() { numbers.append(commit.number) }
        return (cursor.reader, numbers)
    }

    @Test("Reading goes on where it ended, also in the middle of a commit")
    func goingOn() throws {
        let (reader, numbers) = try read()
        #expect(numbers == [1, 2, 3, 4])
        #expect(try read(behind: reader.position).1 == [])
        log.damage { $0.removeLast() }
        let (cut, _) = try read()
        #expect(cut.position == LogPosition(entry: 5, commit: 3))
        #expect(cut.end == LogPosition(entry: 6, commit: 3))
        #expect(try read(behind: LogPosition(entry: 3, commit: 2)).1 == [3])
    }

    @Test("A trimmed log begins anywhere")
    func trimmed() throws {
        try log.trim(before: 4)
        #expect(try read().1 == [3, 4])
    }

    @Test("A missing entry is an error", arguments: 1..<6)
    func gaps(at place: Int) throws {
        log.damage { $0.remove(at: place) }
        #expect { try read() } throws: { ($0 as? CommitLogError)?.kind == .damaged }
    }

    @Test("So is one that cannot be read, and one that lies at another's place", arguments: 0..<7)
    func damage(at place: Int) throws {
        let whole = log.entries
        log.damage { entries in
            var bytes = entries[place].bytes
            bytes[bytes.count - 1] ^= 1
            entries[place] = NumberedEntry(number: entries[place].number, bytes: bytes)
        }
        #expect { try read() } throws: { ($0 as? CommitLogError)?.kind == .damaged }
        log.damage { entries in
            entries = whole
            let other = entries[(place + 1) % 7].bytes
            entries[place] = NumberedEntry(number: entries[place].number, bytes: other)
        }
        #expect(throws: CommitLogError.self) { try read() }
    }

    @Test("Entries of an earlier epoch behind the beginning of a later one are an error")
    func earlierEpochs() throws {
        let entry = log.entries[1].bytes
        let end = try read().0
        _ = try CommitWriter(log, behind: end.end, lastEpoch: end.epoch, schema: 1)
        log.damage { $0.append(NumberedEntry(number: 9, bytes: entry)) }
        #expect { try read() } throws: { ($0 as? CommitLogError)?.kind == .damaged }
    }
}
