import System
import TestCommitLog
import Testing

@testable import CommitLog

@Suite struct CommitWriterTests {
    let log = MemoryCommitLog()
    let large = [UInt8](repeating: 7, count: 2 * CommitWriter.partBytesMax + 1)

    static let patience: CommitWriter.Patience = {
        var patience = CommitWriter.Patience()
        patience.commitWait = .milliseconds(50)
        patience.pause = .milliseconds(1)
        return patience
    }()

    /// A writer behind all that is in the log.
    func writer() throws(CommitLogError) -> CommitWriter {
        let (reader, _) = try readAll()
        return try CommitWriter(
            log,
            behind: reader.end,
            lastEpoch: reader.epoch,
            schema: 1,
            patience: Self.patience
        )
    }

    func readAll() throws(CommitLogError) -> (CommitReader, [Commit]) {
        var cursor = CommitCursor(log, CommitReader(behind: .start))
        var commits: [Commit] = []
        while let commit = try cursor.next() { commits.append(commit) }
        return (cursor.reader, commits)
    }

    func bodies() throws -> [[UInt8]] {
        try readAll().1.filter { $0.kind == .changes }.map(\.body)
    }

    @Test("Commits are read in their order, large ones in parts")
    func order() throws {
        var writer = try writer()
        for body in [[1], [], large, [2]] { try writer.publish(.changes, body) }
        #expect(try bodies() == [[1], [], large, [2]])
        #expect(log.entries.count == 1 + 3 + 3)
        #expect(log.entries.allSatisfy { $0.bytes.count <= 1 << 20 })
        #expect(writer.position == LogPosition(entry: 7, commit: 5))
        #expect(try readAll().0.position == writer.position)
    }

    @Test(
        "A commit is in the log once, whatever becomes of its messages",
        arguments: [
            [.unanswered], [.lost], [.cut(1)], [.late], [.away], [.unanswered, .away, .late],
            [.cut(2), .lost, .unanswered],
        ] as [[MemoryCommitLog.Fault?]]
    )
    func faults(_ plan: [MemoryCommitLog.Fault?]) throws {
        var writer = try writer()
        log.plan(plan)
        try writer.publish(.changes, large)
        try writer.publish(.changes, [2])
        #expect(try bodies() == [large, [2]])
    }

    @Test("An engine that has forgotten an append is shown that it is there")
    func forgotten() throws {
        var writer = try writer()
        try writer.publish(.changes, [1])
        let parts = [log.entries[1].bytes]
        // What comes again after the engine's memory has ended is refused, and yet is there.
        log.forgetAppends()
        let id = AppendID(writer: 1, epoch: 1, commit: 2)
        #expect(log.append(parts, after: 1, id: id) == .fenced)
        #expect(try bodies() == [[1]])
    }

    @Test("Of two writers the one that began last can commit, and the other one cannot")
    func rivals() throws {
        var first = try writer()
        try first.publish(.changes, [1])
        var second = try writer()
        let kept = first.position
        #expect {
            try first.publish(.changes, [2])
        } throws: { ($0 as? CommitLogError)?.kind == .fenced }
        #expect(first.position == kept)
        try second.publish(.changes, [3])
        #expect(try bodies() == [[1], [3]])
        #expect(try readAll().0.epoch == 2)
    }

    @Test("A writer that begins behind an older end does not get an epoch")
    func staleBeginning() throws {
        let (reader, _) = try readAll()
        var owner = try writer()
        try owner.publish(.changes, [1])
        #expect {
            _ = try CommitWriter(
                log,
                behind: reader.end,
                lastEpoch: reader.epoch,
                schema: 1,
                patience: Self.patience
            )
        } throws: { ($0 as? CommitLogError)?.kind == .fenced }
        try owner.publish(.changes, [2])
        #expect(try bodies() == [[1], [2]])
    }

    @Test("Parts of a commit that was given up are void, and what comes of it later is refused")
    func givenUp() throws {
        var first = try writer()
        log.plan([.cut(1)] + Array(repeating: .away, count: 200))
        #expect {
            try first.publish(.changes, large)
        } throws: { ($0 as? CommitLogError)?.kind == .away }
        log.plan([])
        var second = try writer()
        try second.publish(.changes, [2])
        #expect(try bodies() == [[2]])
        // The commit number of the void parts is given again.
        #expect(try readAll().1.map(\.number) == [1, 2, 3])
    }

    @Test("A commit that comes through after it was given up is kept or kept out, never both")
    func lateCommits() throws {
        var first = try writer()
        log.plan([.late] + Array(repeating: .away, count: 200))
        #expect(throws: CommitLogError.self) { try first.publish(.changes, [1]) }
        log.plan([])
        var second = try writer()
        try second.publish(.changes, [2])
        #expect(try bodies() == [[2]], "the epoch came first")
    }

    @Test("Without room a commit fails at once")
    func noRoom() throws {
        var writer = try writer()
        log.plan([.noRoom])
        #expect {
            try writer.publish(.changes, [1])
        } throws: { ($0 as? CommitLogError)?.kind == .noRoom }
        #expect(try bodies() == [])
    }
}
