import Glibc
import JSON
import NATS
import System
import TestNATS
import TestSupport
import Testing

@testable import CommitLog

/// Brokers that die, or that are not what a log needs.
@Suite(.timeLimit(.minutes(10))) final class BrokerFailureTests {
    /// Appends commits until it is stopped, and counts those that were acknowledged.
    final class Writing: Sendable {
        let count = SharedValue<UInt64>(0)
        let problem = Locked<CommitLogError?>(nil)
        private let isStopping = Locked(false)
        private let worker: Locked<Worker?> = Locked(nil)

        init(_ log: JetStreamLog) throws {
            let worker = try Worker("writer") { [self] in
                do throws(CommitLogError) {
                    var retries = CommitWriter.RetryPolicy()
                    retries.timeout = .seconds(40)
                    var writer = try CommitWriter(
                        log,
                        after: .start,
                        writer: 7,
                        schema: 1,
                        retries: retries
                    )
                    while !isStopping.withLock({ $0 }) {
                        let next = count.now + 1
                        try writer.publish(.changes, Array("commit \(next)".utf8))
                        count.change { $0 = next }
                    }
                } catch {
                    problem.withLock { $0 = error }
                    count.change { _ in }
                }
            }
            self.worker.withLock { $0 = worker }
        }

        /// Waits until so many more are acknowledged.
        func more(_ number: UInt64) -> Bool {
            let goal = count.now + number
            _ = count.wait(.seconds(40)) { [self] count in
                count >= goal || problem.withLock { $0 } != nil
            }
            return count.now >= goal
        }

        func stop() {
            isStopping.withLock { $0 = true }
            worker.withLock { $0.take() }?.join()
        }
    }

    @Test("What was acknowledged is in the log in order, whichever brokers die")
    func kills() throws {
        let trial = JetStreamTrial(try Brokers(3))
        let log = try trial.log()
        let writing = try Writing(log)
        #expect(writing.more(20))
        let leader = try leader(of: trial)
        leader.kill()
        #expect(writing.more(5))
        try leader.start()
        // Without a quorum, and without any broker.
        for count in [2, 3] {
            for broker in trial.brokers.all.prefix(count) { broker.kill() }
            for broker in trial.brokers.all.prefix(count) { try broker.start() }
            #expect(writing.more(20))
        }
        // A broker that hangs is given up, as if it were dead.
        let hanging = try self.leader(of: trial)
        hanging.signal(SIGSTOP)
        #expect(writing.more(5))
        hanging.signal(SIGCONT)
        #expect(writing.more(5))
        writing.stop()
        #expect(writing.problem.withLock { $0 } == nil)
        let entries = try log.entries().map { try CommitEntry($0.bytes) }
        #expect(
            entries.dropFirst().map { String(decoding: $0.body, as: UTF8.self) }
                == (1...writing.count.now).map { "commit \($0)" }
        )
    }

    @Test("A gateway reads no older register than it has set, whichever brokers die")
    func registers() throws {
        let trial = JetStreamTrial(try Brokers(3))
        let cluster = try trial.cluster()
        _ = try cluster.made("a")
        var value: UInt8 = 0
        var lastReached = Moment.now
        /// As a gateway does: a server may be cut off from others, which it does not notice for
        /// long.
        func reached<Value>(_ body: () throws(CommitLogError) -> Value) throws(CommitLogError)
            -> Value
        {
            do throws(CommitLogError) {
                let value = try body()
                lastReached = .now
                return value
            } catch {
                if .now - lastReached > .seconds(9) {
                    cluster.changeServer()
                    lastReached = .now
                }
                throw error
            }
        }
        func goOn(_ count: Int) throws {
            for _ in 0..<count {
                value += 1
                try untilReached { () throws(CommitLogError) in
                    try reached { () throws(CommitLogError) in try cluster.set("a", to: [value]) }
                }
                let found = try untilReached { () throws(CommitLogError) in
                    try reached { () throws(CommitLogError) in try cluster.registers() }
                }
                #expect(found.mapValues(\.value) == ["a": [value]])
            }
        }
        for broker in trial.brokers.all.prefix(2) {
            try goOn(5)
            broker.kill()
            try goOn(5)
            // The leader of a shard's stream may be unknown for a while, and the shard then is left
            // out.
            #expect(eventually { (try? cluster.shards()) == [ListedShard(name: "a", last: 0)] })
            try broker.start()
            try goOn(20)
        }
    }

    @Test("A replica that hangs is not waited for, and one that is behind is not believed")
    func laggingReplica() throws {
        let trial = JetStreamTrial(try Brokers(3))
        let cluster = try trial.cluster()
        guard case .connected(let address, _) = cluster.api.client.state else {
            Issue.record("there is no connection")
            return
        }
        // The client's own broker would have messages of this gateway to send on.
        let others = trial.brokers.all.filter { $0.address != address }
        for round in 0..<6 as Range<UInt8> {
            func read(_ count: Int) throws {
                for _ in 0..<count {
                    let found = try untilReached { () throws(CommitLogError) in
                        try cluster.registers()
                    }
                    #expect(found.mapValues(\.value) == ["a": [round, 49]])
                }
            }
            let replica = others[Int(round) % 2]
            replica.signal(SIGSTOP)
            for value in 0..<50 as Range<UInt8> {
                try untilReached { () throws(CommitLogError) in
                    try cluster.set("a", to: [round, value])
                }
            }
            try read(5)
            replica.signal(SIGCONT)
            try read(20)
        }
    }

    /// The broker that leads the log's stream.
    func leader(of trial: JetStreamTrial) throws -> Broker {
        let client = try trial.client()
        let stream = "SLUICE_\(trial.settings.cluster)_Q_a"
        let info = try client.request("$JS.API.STREAM.INFO.\(stream)", timeout: .seconds(5))
        let name = try JSONValue(parsing: info.body)["cluster"]?["leader"]?.text
        return try #require(trial.brokers.all.first { $0.name == name })
    }

    @Test("Appends go on while brokers leave one after the other")
    func leaving() throws {
        let trial = JetStreamTrial(try Brokers(3))
        let writing = try Writing(try trial.log())
        for broker in trial.brokers.all {
            #expect(writing.more(20))
            broker.leave()
            #expect(writing.more(50))
            broker.kill()
            try broker.start()
        }
        writing.stop()
        #expect(writing.problem.withLock { $0 } == nil)
    }

    /// Why the log cannot be opened.
    func refusal(_ brokers: Brokers, replicas: Int, isSynced: Bool = true) throws -> CommitLogError
    {
        let trial = JetStreamTrial(brokers, replicas: replicas)
        do {
            _ = try trial.log(isSynced: isSynced)
        } catch let error as CommitLogError {
            return error
        }
        Issue.record("the log was opened")
        return CommitLogError(.damaged, "")
    }

    @Test("Too few brokers are told")
    func tooFew() throws {
        let brokers = try Brokers(1)
        let error = try refusal(brokers, replicas: 3)
        #expect(error.kind == .refused)
        #expect(error.description.hasPrefix("JetStream finds no 3 servers for the stream SLUICE_"))
        #expect(error.description.contains("sync_interval: always"))
    }

    @Test("Brokers that do not sync are refused for full durability, and taken without it")
    func unsynced() throws {
        let brokers = try Brokers(3, isSynced: false)
        let error = try refusal(brokers, replicas: 3)
        #expect(error.kind == .refused)
        #expect(error.description.contains("server_tags: [\"sync:always\"]"))
        _ = try JetStreamTrial(brokers).log(isSynced: false)
    }

    @Test("Brokers without the space for a stream are told")
    func tooSmall() throws {
        let error = try refusal(try Brokers(1, storeBytes: "512MB"), replicas: 1)
        #expect(error.kind == .noRoom)
        #expect(error.description.contains("raise max_file_store of the servers"))
        let cluster = try refusal(try Brokers(3, storeBytes: "512MB"), replicas: 3)
        #expect(cluster.description.contains("raise max_file_store of the servers"), "\(cluster)")
    }
}
