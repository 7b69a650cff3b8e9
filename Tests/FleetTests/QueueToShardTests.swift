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
@Suite(.timeLimit(.minutes(2))) final class QueueToShardTests {
    private let trial = FleetTrial()
    private let scratch = TemporaryDirectory()

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
        let packets = Awaited<SealedPacket>()
        queue.deliver { for packet in $0 { packets.put(packet) } }
        queue.announceOutlets { [weak queue] in
            for outlet in $0 { queue?.request(1, for: outlet) }
        }
        let answer = Awaited<AppendOutcome>()
        let dead = Batch.Dead(logs: logs([0]), reason: DeathReason(code: "Wrong", message: "it is"))
        queue.append([Batch(stream: .named("log"), logs: logs(numbers), dead: [dead])]) {
            answer.put($0)
        }
        #expect(answer.take(1) == [.stored])
        queue.flush("app")
        let packet = packets.take(1)[0]
        let decided = Awaited<DecisionRefusal?>()
        let entry = AuditEntry(
            actor: "a",
            address: "b",
            action: "pause",
            subject: "app",
            before: "",
            after: ""
        )
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
        let sink = try Sink(heir)
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
        #expect(throws: ShardProblem.self) { try add(until: step) }
        let shards = try trial.shards
        // A gateway that runs in between takes nothing that is not whole.
        let between = try trial.start(trial.machine("c"))
        let sink = try Sink(between)
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
        let last = try Sink(heir)
        #expect(last.waitFor(1...50))
        #expect(heir.wait { $0.ledger.delivered == 50 && $0.ledger.queued == 0 })
        #expect(last.numbers.sorted() == Array(1...50))
        last.stop()
        heir.close()
    }

    @Test("Lost answers and late appends change nothing")
    func faults() throws {
        _ = try fill(1...50)
        #expect(throws: ShardProblem.self) { try add(until: .logMade) }
        let shard = try #require(try trial.shards.first)
        let log = try #require(trial.cluster.memory(of: shard))
        log.plan([.unanswered, .lost, .cut(1), .forgotten(1)])
        #expect(throws: ShardProblem.self) { try add(until: .endingNoted) }
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
        #expect(throws: ShardProblem.self) { try add() }
        try content.write(to: URL(filePath: file))
        _ = try add()
        _ = try deliver(1...50)
    }
}
