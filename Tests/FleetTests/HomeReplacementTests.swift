import CommitLog
import Queue
import System
import TestCommitLog
import TestSupport
import Testing

@testable import Fleet

/// Gateways whose home shard cannot be written while the rest of the cluster works.
@Suite(.timeLimit(.minutes(10))) final class HomeReplacementTests {
    private let trial = FleetTrial()

    deinit { trial.end() }

    private func log(of shard: String) throws -> MemoryCommitLog {
        try #require(trial.cluster.memory(of: shard))
    }

    @Test("Another home shard takes the place of one that stays wedged, which is emptied later")
    func wedged() throws {
        let machine = trial.machine("a")
        machine.replaceAfter = .milliseconds(1500)
        let gateway = try trial.start(machine)
        let sink = try trial.sink(gateway)
        #expect(gateway.store(1...20) == .stored && sink.waitFor(1...20))
        let first = try gateway.home()
        #expect(!gateway.failsWhileOthersWork)
        try log(of: first).wedge(true)
        #expect(gateway.store(21...30) == .refused(.failing))
        #expect(eventually { gateway.failsWhileOthersWork }, "what balancers ask fails")
        #expect(gateway.storeUntilTaken(31...40) && sink.waitFor(31...40))
        #expect(try gateway.home() != first && eventually { !gateway.failsWhileOthersWork })
        #expect(gateway.has(first) && gateway.status.fleet?.replacements == 1)
        try log(of: first).wedge(false)
        #expect(gateway.wait { $0.fleet?.absorptions == 1 })
        #expect(try trial.shards == [gateway.home()])
        #expect(sink.numbers.filter { $0 <= 20 } == Array(1...20), "each of them once")
        let ledger = gateway.status.ledger
        #expect(ledger.isClosed && ledger.queued == 0 && gateway.status.fleet?.losses == 0)
    }

    @Test("What waits in a wedged shard, or was sent from it, is delivered when it works again")
    func waitingLogs() throws {
        let gateway = try trial.start(trial.machine("a"))
        for number in 0..<10 { #expect(gateway.store([number], "store-\(number)") == .stored) }
        // Delivery has some of its packets, and ends them when the shard is no home any more.
        let packets = gateway.deliver(1)
        let held = packets.take(10)
        let first = try gateway.home()
        try log(of: first).wedge(true)
        #expect(gateway.store(100...101) == .refused(.failing))
        #expect(gateway.storeUntilTaken(200...209))
        for packet in held.prefix(5) { gateway.end(packet, .stored) }
        for packet in held.dropFirst(5) { gateway.end(packet, .recalled) }
        try log(of: first).wedge(false)
        let again = packets.take(6)
        for packet in again { gateway.end(packet, .stored) }
        let expected = held.dropFirst(5).map(\.stream.outlet.logstore) + ["log"]
        #expect(again.map(\.stream.outlet.logstore).sorted() == expected.sorted())
        #expect(gateway.wait { $0.fleet?.absorptions == 1 })
        #expect(gateway.status.ledger.isClosed && gateway.status.ledger.queued == 0)
    }

    @Test("A home shard whose log has lost its end is replaced, and stays with its reason")
    func damaged() throws {
        let gateway = try trial.start(trial.machine("a"))
        for number in 1...20 { #expect(gateway.store([number]) == .stored) }
        let first = try gateway.home()
        try log(of: first).loseEnd(5)
        #expect(gateway.store([21]) == .refused(.failing))
        #expect(gateway.storeUntilTaken(22...30))
        let kept = gateway.status.fleet?.shards.first { $0.name == first }
        #expect(kept?.role == .adopted)
        #expect(kept?.problem?.description.contains("ends with entry") ?? false)
    }

    @Test("No other shard is begun for one that works again in time, nor if nothing can be reached")
    func passing() throws {
        let machine = trial.machine("a")
        machine.replaceAfter = .milliseconds(1500)
        let gateway = try trial.start(machine)
        let first = try gateway.home()
        machine.view.isReachable = false
        #expect(gateway.store(1...2) == .refused(.failing))
        // Longer than `replaceAfter`.
        #expect(!eventually(within: .seconds(1.8)) { gateway.failsWhileOthersWork })
        machine.view.isReachable = true
        #expect(gateway.storeUntilTaken(3...4))
        try log(of: first).wedge(true)
        #expect(gateway.store(5...6) == .refused(.failing))
        #expect(eventually { gateway.failsWhileOthersWork })
        try log(of: first).wedge(false)
        #expect(gateway.storeUntilTaken(7...8) && eventually { !gateway.failsWhileOthersWork })
        #expect(try gateway.home() == first && gateway.status.fleet?.replacements == 0)
        #expect(try trial.shards == [first])
    }

    @Test("Two shards that fail may wait for their repair, and a third one is not replaced")
    func manyFailing() throws {
        let gateway = try trial.start(trial.machine("a"))
        for number in 1...3 {
            let home = try gateway.home()
            try log(of: home).wedge(true)
            #expect(gateway.store([number]) == .refused(.failing))
            guard number < 3 else { break }
            #expect(gateway.storeUntilTaken([number * 10]))
        }
        #expect(eventually { trial.recorder.text.contains("is not replaced, because former") })
        #expect(gateway.status.fleet?.replacements == 2)
        for shard in try trial.shards { try log(of: shard).wedge(false) }
        #expect(gateway.storeUntilTaken([40]))
        let sink = try trial.sink(gateway)
        #expect(sink.waitFor([10, 20, 40]) && gateway.wait { $0.fleet?.absorptions == 2 })
    }

    @Test("A start does not count the time without the cluster as that of its home shard")
    func startWithoutCluster() throws {
        let machine = trial.machine("a")
        let earlier = try trial.start(machine)
        let first = try earlier.home()
        earlier.close()
        try log(of: first).wedge(true)
        let opening = try FleetOpening(machine.settings(), machine.view, trial.recorder.journal)
        #expect { _ = try opening.open() } throws: { ($0 as? CommitLogError)?.kind == .unreachable }
        machine.view.isReachable = false
        let away = Moment.now + machine.replaceAfter * 2
        while .now < away {
            #expect { _ = try opening.open() } throws: { _ in true }
        }
        machine.view.isReachable = true
        try log(of: first).wedge(false)
        let gateway = try opening.open()
        defer { gateway.close() }
        #expect(try gateway.home() == first)
    }

    @Test("Another gateway may take the shard that was set aside")
    func setAsideAndLost() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        let gateway = try trial.start(a)
        #expect(gateway.store(1...10) == .stored)
        let first = try gateway.home()
        try log(of: first).wedge(true)
        #expect(gateway.store(11...12) == .refused(.failing))
        #expect(gateway.storeUntilTaken(13...20))
        let other = try trial.start(b)
        a.view.isReachable = false
        try log(of: first).wedge(false)
        let sink = try trial.sink(other)
        #expect(sink.waitFor(Array(1...10) + Array(13...20)))
        a.view.isReachable = true
        #expect(gateway.wait { $0.fleet?.losses == 2 })
        #expect(gateway.storeUntilTaken(21...30))
    }

    @Test("A start whose home shard stays wedged begins another one")
    func wedgedStart() throws {
        let machine = trial.machine("a")
        let earlier = try trial.start(machine)
        #expect(earlier.store(1...10) == .stored)
        let first = try earlier.home()
        earlier.close()
        try log(of: first).wedge(true)
        let gateway = try trial.start(machine)
        #expect(try gateway.home() != first)
        #expect(gateway.store(11...20) == .stored)
        try log(of: first).wedge(false)
        let sink = try trial.sink(gateway)
        #expect(sink.waitFor(1...20))
        #expect(gateway.wait { $0.fleet?.absorptions == 1 })
    }
}
