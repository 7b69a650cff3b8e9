import TestCommitLog
import Testing

@testable import CommitLog

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
