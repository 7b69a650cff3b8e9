import CommitLog
import Foundation
import Queue
import System
import TestCommitLog
import TestSupport
import Testing

@testable import Fleet
@testable import SQLiteQueue

/// A local queue that becomes a shard, cut off at each point.
@Suite(.timeLimit(.minutes(10))) final class QueueToShardTests {
    private let trial = FleetTrial()
    private let scratch = TemporaryDirectory()

    deinit { trial.end() }

    private var directory: String { scratch.path + "/local" }
    private var view: MemoryCluster { trial.cluster.view() }

    private func local() throws -> DurableQueue {
        var configuration = QueueConfiguration(directory: directory, freeBytesMin: 0)
        configuration.tuning.linger = .zero
        return try DurableQueue(configuration, journal: .silent)
    }

    /// A local queue with a sealed packet, a dead letter and a decision. Returns the packet's id.
    private func fill(_ numbers: ClosedRange<Int>) throws -> [String] {
        let queue = try local()
        let packets = queue.deliver(1)
        let dead = Batch.Dead(logs: logs([0]), reason: DeathReason(code: "Wrong", message: "it is"))
        let batch = Batch(stream: .named("log"), logs: logs(numbers), dead: [dead])
        #expect(queue.store(batch) == .stored)
        queue.flush("app")
        let packet = packets.take(1)[0]
        let decided = Awaited<DecisionRefusal?>()
        let entry = AuditEntry(actor: "a", address: "b", action: "pause", subject: "app")
        queue.decide(Decision(["paused.app": [1]], entry)) { decided.put($0) }
        #expect(decided.take(1) == [nil])
        queue.close()
        return [packet.packID]
    }

    /// Runs the command until it has reached a step for the nth time; nil: to its end.
    private func add(
        _ cluster: MemoryCluster? = nil,
        until step: QueueToShard.Step? = nil
    ) throws -> QueueToShard.Outcome {
        var addition = QueueToShard(cluster ?? view, from: directory)
        addition.reached = { reached throws(QueueError) in
            if reached == step { throw QueueError(.io, "cut off") }
        }
        return try addition.run()
    }

    /// A gateway adopts the only shard and delivers it; what it was given.
    private func deliver(_ expected: ClosedRange<Int>) throws -> Sink {
        let heir = try trial.start(trial.machine("b"))
        let sink = try trial.sink(heir)
        #expect(sink.waitFor(expected))
        #expect(heir.wait { $0.fleet?.absorptions == 1 })
        #expect(sink.numbers.sorted() == Array(expected), "each log once")
        #expect(heir.wait { $0.ledger.delivered == Int64(expected.count) })
        let ledger = heir.status.ledger
        #expect(ledger.isClosed && ledger.dead == 1 && ledger.queued == 0)
        #expect(try trial.shards.count == 1)
        sink.stop()
        heir.close()
        return sink
    }

    @Test("A gateway adopts the queue, and delivers it with the same packets")
    func move() throws {
        let ids = try fill(1...50)
        let outcome = try add()
        #expect(outcome.report?.logs == 50 && !outcome.hasAnother)
        #expect(try trial.shards == [outcome.shard])
        #expect(!MovingQueue.isThere(in: directory))
        #expect(FileManager.default.fileExists(atPath: outcome.aside))
        // Decisions have credentials, which no server must see.
        let decision = Array("paused.app".utf8)
        let log = try #require(trial.cluster.memory(of: outcome.shard))
        #expect(!log.entries.contains { $0.bytes.firstRange(of: decision) != nil })
        let sink = try deliver(1...50)
        #expect(Set(sink.packetIDs).isSuperset(of: ids))
        // The directory may be used again.
        let again = try local()
        #expect(again.status.ledger.accepted == 0)
        again.close()
        #expect { _ = try QueueToShard(self.view, from: self.scratch.path).run() } throws: {
            "\($0)".contains("has no queue.db")
        }
    }

    @Test(
        "Cut off anywhere, the command goes on with the same shard, and no log is delivered twice",
        arguments: QueueToShard.Step.allCases
    )
    func cutOff(step: QueueToShard.Step) throws {
        _ = try fill(1...50)
        #expect(throws: CommitLogError.self) { try add(until: step) }
        let shards = try trial.shards
        // A gateway that runs in between takes nothing that is not whole.
        let between = try trial.start(trial.machine("c"))
        let sink = try trial.sink(between)
        if step == .sent {
            #expect(sink.waitFor(1...50))
            #expect(between.wait { $0.fleet?.absorptions == 1 })
        } else if step == .logMade {
            // Nothing in the log tells yet what it becomes.
            #expect(between.wait { $0.fleet?.absorptions == 1 })
        } else if step != .noted {
            #expect(between.wait { $0.fleet?.refusedOrphans.isEmpty == false })
        }
        if step != .sent { #expect(sink.numbers.isEmpty) }
        sink.stop()
        between.close()
        if [.putAside, .endingNoted, .sent].contains(step) {
            #expect { try MoveNote.checkStart(in: self.directory) } throws: {
                "\($0)".contains("sluice shards add \(self.directory)")
            }
        } else {
            try MoveNote.checkStart(in: directory)
        }
        let outcome = try add()
        #expect(try MoveNote.read(in: directory) == nil)
        guard step != .sent else {
            #expect(sink.numbers.count == 50 && outcome.report == nil)
            return #expect(try trial.shards.allSatisfy { ShardName.node(of: $0) == "c" })
        }
        if step != .noted && step != .logMade { #expect(shards == [outcome.shard]) }
        let names = try trial.shards.filter { ShardName.node(of: $0) == "moved" }
        #expect(names == [outcome.shard])
        let heir = try trial.start(trial.machine("b"))
        let last = try trial.sink(heir)
        #expect(last.waitFor(1...50))
        #expect(heir.wait { $0.ledger.delivered == 50 && $0.ledger.queued == 0 })
        #expect(last.numbers.sorted() == Array(1...50))
    }

    @Test("Lost answers and late appends change nothing")
    func faults() throws {
        _ = try fill(1...50)
        #expect(throws: CommitLogError.self) { try add(until: .logMade) }
        let shard = try #require(try trial.shards.first)
        let log = try #require(trial.cluster.memory(of: shard))
        log.plan([.unanswered, .lost, .cut(1), .forgotten(1)])
        #expect(throws: CommitLogError.self) { try add(until: .endingNoted) }
        #expect(try add().shard == shard)
        _ = try deliver(1...50)
    }

    @Test("Another cluster, a queue in use and a damaged one are refused, and the queue stays")
    func refusals() throws {
        _ = try fill(1...50)
        let queue = try local()
        #expect { _ = try self.add() } throws: { "\($0)".contains("in use by process") }
        queue.close()
        let file = directory + "/queue.db"
        let content = try Data(contentsOf: URL(filePath: file))
        try content.prefix(content.count / 2).write(to: URL(filePath: file))
        #expect { _ = try self.add() } throws: { "\($0)".contains("is damaged") }
        #expect(throws: CommitLogError.self) { try add() }
        try content.write(to: URL(filePath: file))
        _ = try add()
        _ = try deliver(1...50)
    }
}

/// A shard that becomes a local queue, cut off at each point.
@Suite(.timeLimit(.minutes(10))) final class ShardToQueueTests {
    private let trial = FleetTrial()
    private let scratch = TemporaryDirectory()

    deinit { trial.end() }

    private var directory: String { scratch.path + "/local" }

    /// The timing of the trial's gateways.
    private var timing: FleetTiming { trial.machine("x").settings().timing }

    /// A shard of a gateway that is gone, with a sealed packet and a dead letter. Returns its name
    /// and the packet's id.
    private func fill(
        _ numbers: ClosedRange<Int>,
        isKilled: Bool = false
    ) throws -> (name: String, packet: String) {
        let machine = trial.machine("a")
        let gateway = try trial.start(machine)
        let packets = gateway.deliver(1)
        #expect(gateway.store(numbers) == .stored && gateway.storeDead(0) == .stored)
        gateway.flush("app")
        let packet = packets.take(1)[0]
        let name = try gateway.home()
        if isKilled { machine.view.isReachable = false }
        gateway.close()
        return (name, packet.packID)
    }

    private func take(
        _ shard: String,
        to directory: String? = nil,
        until step: ShardToQueue.Step? = nil
    ) throws -> ShardToQueue.Outcome {
        var take = ShardToQueue(
            trial.cluster.view(),
            shard,
            to: directory ?? self.directory,
            timing: timing
        )
        take.reached = { reached throws(QueueError) in
            if reached == step { throw QueueError(.io, "cut off") }
        }
        return try take.run()
    }

    private func local(in other: String? = nil) throws -> DurableQueue {
        let directory = other ?? directory
        try MoveNote.checkStart(in: directory)
        let configuration = QueueConfiguration(directory: directory, freeBytesMin: 0)
        return try DurableQueue(configuration, journal: .silent)
    }

    /// Delivers a local queue. Returns the packets' ids and the numbers of their logs.
    private func deliver(_ queue: DurableQueue, count: Int) throws -> ([String], [Int]) {
        let packets = queue.deliver(4)
        queue.flush("app")
        var (ids, found): ([String], [Int]) = ([], [])
        while found.count < count {
            for packet in packets.take(1) {
                ids.append(packet.packID)
                found += try numbers(queue.blocks(of: packet))
                queue.end(packet, .stored)
            }
        }
        #expect(eventually { queue.status.ledger.queued == 0 })
        return (ids, found.sorted())
    }

    private func isNothingLeft(of shard: String) throws -> Bool {
        let view = try trial.openView()
        let nodes = try view.registers().keys.filter { $0.contains("sluice-restore") }
        return try !view.shards().contains { $0.name == shard } && nodes.isEmpty
            && ShardDirectories.isGone(shard, in: view)
            && !FileManager.default.fileExists(atPath: "\(directory)/shards/\(shard)")
    }

    @Test(
        "A local gateway goes on with the same packets, and the cluster has nothing of it",
        arguments: [false, true]
    )
    func take(isKilled: Bool) throws {
        let (shard, packet) = try fill(1...50, isKilled: isKilled)
        let outcome = try take(shard)
        #expect(outcome.report?.logs == 50 && outcome.report?.deadLetters == 1)
        #expect(try isNothingLeft(of: shard))
        let queue = try local()
        #expect(queue.status.ledger.queued == 50 && queue.status.ledger.dead == 1)
        #expect(queue.cededTo == nil)
        let (ids, found) = try deliver(queue, count: 50)
        #expect(ids.contains(packet) && found == Array(1...50))
        #expect(queue.status.ledger.isClosed)
        queue.close()
    }

    @Test(
        "Cut off anywhere, the command goes on, and no gateway delivers a log twice",
        arguments: ShardToQueue.Step.allCases
    )
    func cutOff(step: ShardToQueue.Step) throws {
        let (shard, _) = try fill(1...50)
        #expect(throws: CommitLogError.self) { try take(shard, until: step) }
        let note = try MoveNote.read(in: directory)
        // Before it is ceded it is the cluster's.
        let isCeded = ![.noted, .endingNoted].contains(step)
        if isCeded {
            #expect { _ = try self.local() } throws: {
                "\($0)".contains("sluice restore --take \(shard) \(self.directory)")
            }
        } else if step == .noted {
            #expect(note == nil || note?.stage == .begun)
        }
        let heir = try trial.start(trial.machine("b"))
        let sink = try trial.sink(heir)
        if isCeded {
            #expect(heir.wait { $0.fleet?.shards.count == 1 })
            #expect(!eventually(within: .milliseconds(800)) { !sink.numbers.isEmpty })
            if step == .ceded {
                #expect(
                    heir.wait {
                        $0.fleet?.refusedOrphans[shard]?.contains("sluice restore --take") ?? false
                    }
                )
            }
        } else {
            #expect(sink.waitFor(1...50))
            #expect(heir.wait { $0.fleet?.absorptions == 1 })
        }
        sink.stop()
        heir.close()
        guard isCeded else {
            #expect {
                _ = try self.take(shard)
            } throws: { ($0 as? CommitLogError)?.kind == .missing }
            #expect(sink.numbers.count == 50)
            #expect(try MoveNote.read(in: self.directory) == nil)
            return
        }
        let outcome = try take(shard)
        #expect(try isNothingLeft(of: shard))
        #expect((outcome.report == nil) == (step != .ceded))
        let queue = try local()
        let (_, found) = try deliver(queue, count: 50)
        #expect(found == Array(1...50) && sink.numbers.isEmpty)
        queue.close()
    }

    @Test(
        "A shard that a gateway has, one that is unknown, and a directory with a queue are refused"
    )
    func refusals() throws {
        let gateway = try trial.start(trial.machine("a"))
        #expect(gateway.store(1...5) == .stored)
        let shard = try gateway.home()
        #expect { _ = try self.take(shard) } throws: {
            "\($0)".contains("the gateway a has the shard")
        }
        #expect(gateway.store(6...9) == .stored, "it was not taken")
        #expect { _ = try self.take("b~00000000") } throws: {
            "\($0)".contains("there is no shard")
        }
        gateway.close()
        let other = try local()
        #expect { _ = try self.take(shard) } throws: { "\($0)".contains("in use by process") }
        other.close()
        #expect { _ = try self.take(shard) } throws: { "\($0)".contains("is there already") }
        let free = scratch.path + "/free"
        #expect(try take(shard, to: free).report?.logs == 9)
    }

    @Test("If the directory is lost in between, a file of the shard can be a queue")
    func lostDirectory() throws {
        let (shard, _) = try fill(1...50)
        #expect(throws: CommitLogError.self) { try take(shard, until: .ceded) }
        let other = scratch.path + "/other"
        #expect { _ = try self.take(shard, to: other) } throws: {
            "\($0)".contains("sluice restore \(shard) FILE")
        }
        try MoveNote.checkStart(in: other)
        let view = try trial.openView()
        let file = other + "/queue.db"
        let outcome = try RestoreCommand(view.log(of: shard), of: shard, to: file).run()
        #expect(outcome.report.logs == 50)
        let queue = try local(in: other)
        #expect(queue.cededTo == nil)
        #expect(try deliver(queue, count: 50).1 == Array(1...50))
        queue.close()
    }

    @Test("A queue that went into the cluster comes back with the same packet")
    func thereAndBack() throws {
        let (shard, packet) = try fill(1...50)
        _ = try take(shard)
        let moved = try QueueToShard(trial.cluster.view(), from: directory).run()
        #expect(moved.report?.logs == 50)
        #expect(try take(moved.shard).report?.logs == 50)
        let queue = try local()
        let (ids, found) = try deliver(queue, count: 50)
        #expect(ids.contains(packet) && found == Array(1...50))
        queue.close()
        #expect(try trial.shards.isEmpty)
    }
}
