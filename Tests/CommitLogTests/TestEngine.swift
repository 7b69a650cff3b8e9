import CommitLog
import Crypto
import System
import TestCommitLog
import TestPostgreSQL
import TestSupport
import Testing

// What the tests of all engines use.

func id(_ commit: UInt64, writer: UInt64 = 1) -> AppendID {
    AppendID(writer: writer, epoch: 1, commit: commit)
}

extension CommitLog {
    /// As long as an attempt of the writer may take.
    func append(_ parts: [[UInt8]], after last: UInt64, id: AppendID) -> AppendAnswer {
        append(parts, after: last, id: id, until: .now + .seconds(2))
    }

    func entries(from number: UInt64 = 1) throws -> [NumberedEntry] {
        var entries: [NumberedEntry] = []
        while true {
            let more = try untilReached { () throws(CommitLogError) in
                try read(from: (entries.last?.number ?? number - 1) + 1, atMost: 4 << 20)
            }
            if more.isEmpty { return entries }
            entries += more
        }
    }
}

extension AppendAnswer {
    /// Why nobody knows whether the append was taken.
    var doubt: String? { if case .unknown(let text) = self { text } else { nil } }
}

/// Tries again while brokers elect their leaders.
@discardableResult
func untilReached<Value>(_ body: () throws(CommitLogError) -> Value) throws -> Value {
    var outcome: Result<Value, CommitLogError>?
    _ = eventually(within: .seconds(40)) {
        outcome = Result { () throws(CommitLogError) in try body() }
        guard case .failure(let error) = outcome else { return true }
        return error.kind != .unreachable
    }
    return try #require(outcome).get()
}

/// Lets all logs append so many parts at the same moment, again and again, to an empty log. One
/// must be taken each time.
func raceRivals(_ logs: [any CommitLog], parts: Int, rounds: UInt64 = 30) throws {
    var last: UInt64 = 0
    for round in 1...rounds {
        let outcomes = Locked<[AppendAnswer]>([])
        let workers = try logs.enumerated().map { index, log in
            try Worker("rival") { [last] in
                let body = Array(repeating: [UInt8(index)], count: parts)
                let name = id(round, writer: UInt64(index + 1))
                let answer = log.append(body, after: last, id: name)
                outcomes.withLock { $0.append(answer) }
            }
        }
        for worker in workers { worker.join() }
        let answers = outcomes.withLock { $0 }
        last += UInt64(parts)
        #expect(answers.count { $0 == .appended(last) } == 1, "\(answers)")
        #expect(answers.count { $0 == .fenced } == logs.count - 1, "\(answers)")
    }
}

/// A real primary with a synchronous standby, for all tests that do not harm them.
nonisolated(unsafe) let sharedDatabase = Result { try Database() }

/// Where the logs of a cluster are kept.
enum TestEngine: CaseIterable, Sendable {
    case memory, jetStream, postgreSQL

    /// The engines that are installed on this machine.
    static var all: [TestEngine] {
        allCases.filter { $0 != .postgreSQL || Database.isInstalled }
    }
}

/// A cluster of gateways that no other test has.
final class TestCluster {
    private let engine: TestEngine
    private let memory = MemoryCluster()
    private var brokers: JetStreamTrial?
    private let journal = JournalRecorder()
    private let name = "t\(UInt32.random(in: 1...UInt32.max))"

    init(_ engine: TestEngine) {
        self.engine = engine
    }

    /// The opened cluster, as another gateway sees it.
    func view() throws -> any ClusterEngine {
        switch engine {
        case .memory:
            let view = memory.view()
            try view.open()
            return view
        case .jetStream:
            if brokers == nil { brokers = JetStreamTrial(try sharedBrokers.get()) }
            guard let brokers else { throw CancellationError() }
            return try brokers.cluster()
        case .postgreSQL:
            let url = Secret(try sharedDatabase.get().url)
            let settings = PostgreSQLSettings(url: url, cluster: name, node: "a")
            let view = PostgreSQLCluster(settings, journal.journal)
            try view.open()
            return view
        }
    }
}

extension PostgreSQLCluster {
    convenience init(_ settings: PostgreSQLSettings, isSynced: Bool = true, _ journal: Journal) {
        self.init(settings, queueBytes: 1 << 30, isSynced: isSynced, journal: journal)
    }
}

extension ClusterEngine {
    /// The open log of a shard, which is made if it is not there. Brokers may have to elect a
    /// leader first.
    func made(_ shard: String) throws -> any EngineLog {
        let log = log(of: shard)
        try untilReached { () throws(CommitLogError) in
            try log.open(makes: true)
            // Its leader answers.
            _ = try log.read(from: 1, atMost: bytesOfOneEntry)
        }
        return log
    }

    /// The shards in the order of their names.
    func listed() throws -> [ListedShard] { try shards().sorted { $0.name < $1.name } }
}
