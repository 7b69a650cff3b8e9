import TestCommitLog
import Testing

@testable import CommitLog

@Suite struct CommitWriterTests {
    let log = MemoryCommitLog()
    let large = [UInt8](repeating: 7, count: 2 * CommitWriter.partBytesMax + 1)

    static let retries: CommitWriter.RetryPolicy = {
        var retries = CommitWriter.RetryPolicy()
        retries.timeout = .seconds(5)
        retries.pauseMin = .milliseconds(1)
        return retries
    }()

    static let impatient: CommitWriter.RetryPolicy = {
        var retries = CommitWriter.RetryPolicy()
        retries.timeout = .zero
        return retries
    }()

    /// A writer at the end of all that is in the log.
    func writer(
        _ number: UInt64 = 1,
        retries: CommitWriter.RetryPolicy = retries
    ) throws(CommitLogError) -> CommitWriter {
        let (reader, _) = try readAll()
        return try CommitWriter(log, after: reader.end, writer: number, schema: 1, retries: retries)
    }

    func readAll() throws(CommitLogError) -> (CommitReader, [Commit]) {
        var reader = CommitReader(log, after: .start)
        var commits: [Commit] = []
        while let commit = try reader.next() { commits.append(commit) }
        return (reader, commits)
    }

    func bodies() throws -> [[UInt8]] {
        try readAll().1.filter { $0.kind == .changes }.map(\.body)
    }

    func expect(_ kind: CommitLogError.Kind, _ body: () throws -> Void) {
        #expect { try body() } throws: { ($0 as? CommitLogError)?.kind == kind }
    }

    @Test("Commits are read in their order, large ones in parts")
    func order() throws {
        var writer = try writer()
        for body in [[1], [], large, [2]] { try writer.publish(.changes, body) }
        #expect(try bodies() == [[1], [], large, [2]])
        #expect(log.entries.count == 1 + 3 + 3)
        #expect(log.entries.allSatisfy { $0.bytes.count <= 1 << 20 })
        #expect(writer.position == LogPosition(entry: 7, commit: 5, epoch: 1))
        #expect(try readAll().0.position == writer.position)
    }

    @Test(
        "A commit is in the log once, whatever becomes of its messages",
        arguments: [
            [.unanswered], [.lost], [.cut(1)], [.late], [.unreachable], [.refused], [.forgotten(3)],
            [.unanswered, .unreachable, .late], [.cut(2), .lost, .unanswered],
        ] as [[MemoryCommitLog.Fault?]]
    )
    func faults(_ plan: [MemoryCommitLog.Fault?]) throws {
        var writer = try writer()
        log.plan(plan)
        try writer.publish(.changes, large)
        try writer.publish(.changes, [2])
        #expect(try bodies() == [large, [2]])
    }

    @Test("A part that the engine has forgotten is not completed, and is void for the next writer")
    func forgottenParts() throws {
        var first = try writer()
        log.plan([.forgotten(1)])
        expect(.unreachable) { try first.publish(.changes, large) }
        var second = try writer()
        try second.publish(.changes, [2])
        #expect(try bodies() == [[2]])
    }

    @Test("Of two writers the one that began last can commit, and the other one cannot")
    func rivals() throws {
        var first = try writer(1)
        try first.publish(.changes, [1])
        var second = try writer(2)
        expect(.fenced) { try first.publish(.changes, [2]) }
        try second.publish(.changes, [3])
        #expect(try bodies() == [[1], [3]])
        #expect(try readAll().0.position.epoch == 2)
    }

    @Test("A writer that begins after an older end does not get an epoch")
    func staleBeginning() throws {
        let (reader, _) = try readAll()
        var owner = try writer(1)
        try owner.publish(.changes, [1])
        expect(.fenced) {
            _ = try CommitWriter(
                log,
                after: reader.end,
                writer: 2,
                schema: 1,
                retries: Self.retries
            )
        }
        try owner.publish(.changes, [2])
        #expect(try bodies() == [[1], [2]])
    }

    @Test("Its own late append does not fence a gateway out: it reads on and tries again")
    func ownLateAppends() throws {
        var first = try writer(1, retries: Self.impatient)
        log.plan([.late])
        expect(.unreachable) { try first.publish(.changes, [1]) }
        let (reader, _) = try readAll()
        log.deliverLate()
        expect(.unreachable) {
            _ = try CommitWriter(
                log,
                after: reader.end,
                writer: 1,
                schema: 1,
                retries: Self.retries
            )
        }
        var second = try writer(1)
        try second.publish(.changes, [2])
        #expect(try bodies() == [[1], [2]])
    }

    @Test("Parts of a commit that was given up are void, and the others are refused")
    func givenUp() throws {
        var first = try writer(retries: Self.impatient)
        log.plan([.cut(1)])
        expect(.unreachable) { try first.publish(.changes, large) }
        var second = try writer()
        try second.publish(.changes, [2])
        #expect(try bodies() == [[2]])
        // The commit number of the void parts is given again.
        #expect(try readAll().1.map(\.id.commit) == [1, 2, 3])
    }

    @Test("A late append after the next epoch is refused")
    func lateAppends() throws {
        var first = try writer(retries: Self.impatient)
        log.plan([.late])
        expect(.unreachable) { try first.publish(.changes, [1]) }
        var second = try writer()
        log.deliverLate()
        try second.publish(.changes, [2])
        #expect(try bodies() == [[2]])
    }

    @Test("Without room a commit fails at once, and so does one that no reader would gather")
    func noRoom() throws {
        var first = try writer()
        log.plan([.noRoom])
        expect(.noRoom) { try first.publish(.changes, [1]) }
        var second = try writer()
        let most = CommitEntry.partsMax * CommitWriter.partBytesMax
        expect(.noRoom) { try second.publish(.changes, [UInt8](repeating: 0, count: most + 1)) }
        #expect(try bodies() == [])
    }
}

@Suite struct MemoryClusterTests {
    let first = MemoryCluster()
    let second: MemoryCluster

    init() throws {
        second = first.view()
        for view in [first, second] { try view.open() }
    }

    func expectUnreachable(_ body: () throws -> Void) {
        #expect { try body() } throws: { ($0 as? CommitLogError)?.kind == .unreachable }
    }

    @Test("One gateway cannot reach the cluster or its logs, and others can")
    func reachability() throws {
        let (lost, other) = (first.log(of: "a"), second.log(of: "a"))
        try lost.open(makes: true)
        first.isReachable = false
        expectUnreachable { try first.open() }
        expectUnreachable { _ = try first.shards() }
        expectUnreachable { try first.remove("a") }
        expectUnreachable { _ = try first.registers() }
        expectUnreachable { try first.set("a", to: [1]) }
        expectUnreachable { try lost.open(makes: true) }
        expectUnreachable { _ = try lost.read(from: 1, atMost: 1) }
        guard case .unreachable = lost.append([[1]], after: 0, id: id(1)) else {
            Issue.record("an append arrived")
            return
        }
        #expect(other.append([[2]], after: 0, id: id(1, writer: 2)) == .appended(1))
        first.isReachable = true
        #expect(lost.append([[1]], after: 0, id: id(1)) == .fenced)
        #expect(try lost.read(from: 1, atMost: 1).map(\.bytes) == [[2]])
    }

    @Test("Calls fail as often as a test wants, for one gateway")
    func failures() throws {
        first.fail(2)
        for _ in 0..<2 { expectUnreachable { _ = try first.shards() } }
        #expect(try first.shards() == [])
        first.fail(1, .refused)
        #expect(try second.registers() == [:])
        #expect { try first.set("a", to: [1]) } throws: {
            ($0 as? CommitLogError)?.kind == .refused
        }
        #expect(try second.registers() == [:])
    }

    @Test("The log of a shard takes planned faults for all gateways")
    func faults() throws {
        let log = second.log(of: "a")
        try log.open(makes: true)
        first.memory(of: "a")?.plan([.noRoom])
        #expect(log.append([[1]], after: 0, id: id(1)) == .noRoom("the log is full"))
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        #expect(first.memory(of: "a")?.last == 1)
    }
}
