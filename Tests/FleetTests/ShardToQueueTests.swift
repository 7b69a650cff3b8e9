import CommitLog
import Foundation
import Queue
import System
import TestCommitLog
import TestSupport
import Testing

@testable import Fleet
@testable import SQLiteQueue

/// A shard that becomes a local queue, cut off at each point.
@Suite(.timeLimit(.minutes(2))) final class ShardToQueueTests {
    private let trial = FleetTrial()
    private let scratch = TemporaryDirectory()

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
        let packets = Awaited<SealedPacket>()
        gateway.deliver { for packet in $0 { packets.put(packet) } }
        gateway.announceOutlets { [weak gateway] in
            for outlet in $0 { gateway?.request(1, for: outlet) }
        }
        #expect(gateway.store(numbers) == .stored && gateway.storeDead(0) == .stored)
        gateway.flush("app")
        let packet = packets.take(1)[0]
        let name = try #require(gateway.status.fleet?.shards.first?.name)
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

    private func local() throws -> DurableQueue {
        try MoveNote.checkStart(in: directory)
        return try DurableQueue(
            QueueConfiguration(directory: directory, freeBytesMin: 0),
            journal: .silent
        )
    }

    /// Delivers a local queue. Returns the packets' ids and the numbers of their logs.
    private func deliver(_ queue: DurableQueue, count: Int) throws -> ([String], [Int]) {
        let packets = Awaited<SealedPacket>()
        queue.deliver { for packet in $0 { packets.put(packet) } }
        queue.announceOutlets { [weak queue] in
            for outlet in $0 { queue?.request(4, for: outlet) }
        }
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
        let view = trial.cluster.view()
        try view.open()
        let nodes = try view.registers().keys.filter { $0.contains("sluice-restore") }
        return try !view.shards().contains { $0.name == shard } && nodes.isEmpty
            && ShardMove.isGone(shard, view)
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
        #expect(throws: ShardProblem.self) { try take(shard, until: step) }
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
        let sink = try Sink(heir)
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
            #expect { _ = try self.take(shard) } throws: { ($0 as? ShardProblem)?.kind == .gone }
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
        let shard = try #require(gateway.status.fleet?.shards.first?.name)
        #expect { _ = try self.take(shard) } throws: {
            "\($0)".contains("the gateway a has the shard")
        }
        #expect(gateway.store(6...9) == .stored, "it was not taken")
        #expect { _ = try self.take("b~00000000") } throws: {
            "\($0)".contains("there is no shard")
        }
        gateway.close()
        let other = try DurableQueue(
            QueueConfiguration(directory: directory, freeBytesMin: 0),
            journal: .silent
        )
        #expect { _ = try self.take(shard) } throws: { "\($0)".contains("in use by process") }
        other.close()
        #expect { _ = try self.take(shard) } throws: { "\($0)".contains("is there already") }
        let free = scratch.path + "/free"
        #expect(try take(shard, to: free).report?.logs == 9)
    }

    @Test("If the directory is lost in between, a file of the shard can be a queue")
    func lostDirectory() throws {
        let (shard, _) = try fill(1...50)
        #expect(throws: ShardProblem.self) { try take(shard, until: .ceded) }
        let other = scratch.path + "/other"
        #expect { _ = try self.take(shard, to: other) } throws: {
            "\($0)".contains("sluice restore \(shard) FILE")
        }
        try MoveNote.checkStart(in: other)
        let view = trial.cluster.view()
        try view.open()
        let file = other + "/queue.db"
        let outcome = try ShardRestore(view.log(of: shard), of: shard, to: file).run()
        #expect(outcome.report.logs == 50)
        let queue = try DurableQueue(
            QueueConfiguration(directory: other, freeBytesMin: 0),
            journal: .silent
        )
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
