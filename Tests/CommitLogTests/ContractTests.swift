import System
import TestSupport
import Testing

@testable import CommitLog

/// What every engine's cluster does.
@Suite(.timeLimit(.minutes(10))) struct ClusterContractTests {
    func expect(_ kind: CommitLogError.Kind, _ body: () throws -> Void) {
        #expect { try body() } throws: { ($0 as? CommitLogError)?.kind == kind }
    }

    @Test(
        "Shards that have a log are listed, with the number of the last entry",
        arguments: TestEngine.all
    )
    func listing(_ engine: TestEngine) throws {
        let cluster = TestCluster(engine)
        let (first, second) = (try cluster.view(), try cluster.view())
        #expect(try first.shards() == [])
        for number in 0..<5 {
            let log = try first.made("gw-\(number)~0a1b2c3d")
            for entry in 0..<UInt64(number) {
                #expect(log.append([[1]], after: entry, id: id(entry + 1)) == .appended(entry + 1))
            }
        }
        let trimmed = first.log(of: "gw-4~0a1b2c3d")
        #expect(try trimmed.trim(before: 5))
        let expected = (0..<5).map { ListedShard(name: "gw-\($0)~0a1b2c3d", last: UInt64($0)) }
        for view in [first, second] { #expect(try view.listed() == expected) }
    }

    @Test(
        "A log that is not there is missing, and is made only if that is wanted",
        arguments: TestEngine.all
    )
    func missing(_ engine: TestEngine) throws {
        let cluster = TestCluster(engine)
        let (first, second) = (try cluster.view(), try cluster.view())
        expect(.missing) { try first.log(of: "a").open(makes: false) }
        #expect(try first.shards() == [])
        let log = try first.made("a")
        #expect(log.append([[7]], after: 0, id: id(1)) == .appended(1))
        let other = second.log(of: "a")
        try other.open(makes: false)
        #expect(try other.read(from: 1, atMost: 1) == [NumberedEntry(number: 1, bytes: [7])])
        #expect(try second.made("a").append([[8]], after: 1, id: id(2)) == .appended(2))
        #expect(try first.shards() == [ListedShard(name: "a", last: 2)])
    }

    @Test(
        "A removed shard is gone for all, and an append does not bring it back",
        arguments: TestEngine.all
    )
    func removal(_ engine: TestEngine) throws {
        let cluster = TestCluster(engine)
        let (first, second) = (try cluster.view(), try cluster.view())
        let (lost, kept) = (try first.made("a"), try first.made("b"))
        for log in [lost, kept] { #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1)) }
        for _ in 0..<2 {
            try second.remove("a")
            for view in [first, second] {
                #expect(try view.shards() == [ListedShard(name: "b", last: 1)])
            }
        }
        switch lost.append([[2]], after: 1, id: id(2)) {
        case .fenced, .unknown: break
        case let answer: Issue.record("a removed log answered \(answer)")
        }
        expect(.damaged) { _ = try lost.read(from: 2, atMost: 1) }
        expect(.missing) { try lost.open(makes: false) }
        #expect(try second.shards() == [ListedShard(name: "b", last: 1)])
        #expect(kept.append([[2]], after: 1, id: id(2)) == .appended(2))
        #expect(try kept.read(from: 1, atMost: 4 << 20).map(\.bytes) == [[1], [2]])
        try second.remove("never-made")
    }

    @Test("A register has its last value for all until it is removed", arguments: TestEngine.all)
    func registers(_ engine: TestEngine) throws {
        let cluster = TestCluster(engine)
        let (first, second) = (try cluster.view(), try cluster.view())
        let name = "node.gw-1~0a1b2c3d"
        #expect(try first.registers() == [:])
        try first.set(name, to: nil)
        var last: UInt64 = 0
        for value in [[1], [], [1], [1]] as [[UInt8]] {
            try first.set(name, to: value)
            let register = try #require(try first.registers()[name])
            #expect(register.value == value)
            #expect(register.revision > last)
            last = register.revision
            #expect(eventually { (try? second.registers()) == [name: register] })
        }
        try second.set("other", to: [2])
        #expect(try second.registers().mapValues(\.value) == [name: [1], "other": [2]])
        try second.set(name, to: nil)
        #expect(try second.registers().mapValues(\.value) == ["other": [2]])
        #expect(eventually { (try? first.registers().mapValues(\.value)) == ["other": [2]] })
        try first.set(name, to: [3])
        let again = try #require(try first.registers()[name])
        #expect(again.value == [3])
        #expect(again.revision > last)
    }

    @Test("Many registers are read at once, also large ones", arguments: TestEngine.all)
    func manyRegisters(_ engine: TestEngine) throws {
        let view = try TestCluster(engine).view()
        for number in 0..<300 {
            try view.set("node.gw-\(number)~0a1b2c3d", to: [1, UInt8(number % 256)])
        }
        let large = [UInt8](repeating: 7, count: Register.bytesMax)
        try view.set("large", to: large)
        expect(.refused) { try view.set("larger", to: large + [7]) }
        let registers = try view.registers()
        #expect(registers.count == 301)
        #expect(registers["node.gw-299~0a1b2c3d"]?.value == [1, 43])
        #expect(registers["large"]?.value == large)
        #expect(Set(registers.values.map(\.revision)).count == 301)
    }

    @Test("Clusters of other names do not see each other", arguments: TestEngine.all)
    func strangers(_ engine: TestEngine) throws {
        let (ours, theirs) = (try TestCluster(engine).view(), try TestCluster(engine).view())
        _ = try ours.made("a")
        try ours.set("a", to: [1])
        #expect(try theirs.shards() == [])
        #expect(try theirs.registers() == [:])
        try theirs.remove("a")
        try theirs.set("a", to: nil)
        #expect(try ours.shards() == [ListedShard(name: "a", last: 0)])
        #expect(try ours.registers().mapValues(\.value) == ["a": [1]])
    }

    @Test("A check changes nothing", arguments: TestEngine.all)
    func check(_ engine: TestEngine) throws {
        let view = try TestCluster(engine).view()
        _ = try view.made("a")
        let text = try view.check()
        if engine != .memory { #expect(text.contains(" has 1 shard"), "\(text)") }
        #expect(try view.shards() == [ListedShard(name: "a", last: 0)])
        #expect(try view.registers() == [:])
    }
}

/// What every engine's log does.
@Suite(.timeLimit(.minutes(10))) struct LogContractTests {
    @Test("Appends are in the log in order, and are found again", arguments: TestEngine.all)
    func appends(_ engine: TestEngine) throws {
        let cluster = TestCluster(engine)
        let log = try cluster.view().made("a")
        #expect(try log.read(from: 1, atMost: 4 << 20) == [])
        #expect(log.append([[1]], after: 0, id: id(1)) == .appended(1))
        #expect(log.append([[2], [], [4]], after: 1, id: id(2)) == .appended(4))
        let entries = [[1], [2], [], [4]].enumerated().map { index, bytes in
            NumberedEntry(number: UInt64(index) + 1, bytes: bytes)
        }
        for log in [log, try cluster.view().made("a")] {
            #expect(try log.read(from: 1, atMost: 4 << 20) == entries)
            #expect(try log.read(from: 1, atMost: 1) == [entries[0]])
            // Brokers give one entry to who wants a byte, others what has no more than that.
            let few = engine == .jetStream ? [entries[2]] : [entries[2], entries[3]]
            #expect(try log.read(from: 3, atMost: 1) == few)
            #expect(try log.read(from: 3, atMost: 4 << 20) == Array(entries[2...]))
            #expect(try log.read(from: 5, atMost: 4 << 20) == [])
            #expect(try log.read(from: 5, atMost: 1) == [])
        }
    }

    @Test(
        "An append behind a newer entry is refused, also among entries that were trimmed",
        arguments: TestEngine.all
    )
    func fence(_ engine: TestEngine) throws {
        let cluster = TestCluster(engine)
        let (first, second) = (try cluster.view().made("a"), try cluster.view().made("a"))
        #expect(first.append([[1]], after: 0, id: id(1)) == .appended(1))
        #expect(second.append([[2]], after: 0, id: id(1, writer: 2)) == .fenced)
        #expect(second.append([[2], [3]], after: 0, id: id(1, writer: 2)) == .fenced)
        #expect(first.append([[4]], after: 5, id: id(2)) == .fenced)
        #expect(second.append([[5]], after: 1, id: id(2, writer: 2)) == .appended(2))
        #expect(first.append([[6], [7]], after: 1, id: id(2)) == .fenced)
        #expect(try first.entries().map(\.bytes) == [[1], [5]])
        #expect(second.append([[8], [9]], after: 2, id: id(3, writer: 2)) == .appended(4))
        #expect(try second.trim(before: 4))
        #expect(first.append([[6]], after: 1, id: id(2)) == .fenced)
        #expect(try first.entries() == [NumberedEntry(number: 4, bytes: [9])])
    }

    @Test("Of rivals that append at the same moment, one is taken", arguments: TestEngine.all)
    func rivals(_ engine: TestEngine) throws {
        let cluster = TestCluster(engine)
        let logs = try (0..<4).map { _ in try cluster.view().made("a") }
        // Parts of several rivals may come to brokers one by one, so that none is taken.
        let parts = engine == .jetStream ? 1 : 2
        try raceRivals(logs, parts: parts)
        #expect(try logs[0].entries().count == 30 * parts)
    }

    @Test("Large commits and many of them are read in pieces", arguments: TestEngine.all)
    func sizes(_ engine: TestEngine) throws {
        let log = try TestCluster(engine).view().made("a")
        let part = [UInt8](repeating: 7, count: CommitWriter.partBytesMax + 48)
        let parts = (0..<12).map { index in [UInt8(index)] + part }
        let deadline = Moment.now + .seconds(20)
        #expect(log.append(parts, after: 0, id: id(1), until: deadline) == .appended(12))
        for number in 13...60 as ClosedRange<UInt64> {
            #expect(log.append([[1]], after: number - 1, id: id(number)) == .appended(number))
        }
        let piece = try log.read(from: 1, atMost: 4 << 20)
        #expect((engine == .jetStream ? 2...4 : 4...5).contains(piece.count))
        let entries = try log.entries()
        #expect(entries.map(\.number) == Array(1...60))
        #expect(entries.prefix(12).map(\.bytes) == parts)
        // Elsewhere in the log, while a reader is in the middle.
        #expect(try log.read(from: 12, atMost: 4 << 20).first?.number == 12)
        #expect(try log.read(from: 2, atMost: 4 << 20).first?.number == 2)
    }
}
