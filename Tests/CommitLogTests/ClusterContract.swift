import Crypto
import System
import TestCommitLog
import TestNATS
import TestPostgreSQL
import TestSupport

@testable import CommitLog

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
            let view = PostgreSQLCluster(
                settings,
                queueBytes: 1 << 30,
                isSynced: true,
                journal: journal.journal
            )
            try view.open()
            return view
        }
    }
}

extension ClusterEngine {
    /// The open log of a shard, which is made if it is not there. Brokers may have to elect a
    /// leader first.
    func made(_ shard: String) throws -> any EngineLog {
        let log = log(of: shard)
        var problem: CommitLogError?
        _ = eventually {
            do throws(CommitLogError) {
                try log.open(makes: true)
                // Its leader answers.
                _ = try log.read(from: 1, atMost: bytesOfOneEntry)
                problem = nil
            } catch {
                problem = error
            }
            return problem?.kind != .unreachable
        }
        if let problem { throw problem }
        return log
    }

    /// The shards in the order of their names.
    func listed() throws -> [ListedShard] { try shards().sorted { $0.name < $1.name } }
}
