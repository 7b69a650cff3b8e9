import CommitLog
import Glibc
import Queue
import SQLiteQueue
import System

/// The directories of shards that this gateway has or had. What they have is a copy of logs that lie elsewhere.
struct ShardDirectories {
    private let settings: FleetSettings

    init(_ settings: FleetSettings) {
        self.settings = settings
    }

    private var names: [String] {
        fileNames(in: settings.shards).filter { ShardName.node(of: $0) != nil }
    }

    /// Removes what is of no use. Throws if a log has vanished whose logs may be nowhere else.
    func clean(_ shards: [ShardEnd], _ registers: [String: Register]) throws(ShardProblem) {
        let known = Set(shards.map(\.name))
        for name in names where !known.contains(name) {
            if registers[Self.goneRegister(of: name)] == nil { try checkLogs(of: name) }
            remove(name)
        }
    }

    private func checkLogs(of name: String) throws(ShardProblem) {
        let directory = settings.directory(of: name)
        let logs: StoredLogs?
        do throws(QueueError) {
            logs = try StoredLogs.ofQueue(in: directory, isScratch: true)
        } catch {
            throw ShardProblem(error)
        }
        guard let logs, logs.queued > 0 else { return }
        throw ShardProblem(
            .lasting,
            "the log of the shard \(name) is gone, and \(logs.path) has \(logs.queued) undelivered logs of it; "
                + "restore the log, or remove the directory to go on without them"
        )
    }

    func remove(_ name: String) { StoredLogs.removeScratch(in: settings.directory(of: name)) }

    /// The register that tells that a shard was absorbed, and is not lost.
    static func goneRegister(of shard: String) -> String { "gone.\(shard)" }
}
