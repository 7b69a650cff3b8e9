import CommitLog
import Glibc
import Queue
import SQLiteQueue
import System

/// The directories of present and former shards, with copies of logs that lie elsewhere.
struct ShardDirectories {
    private let settings: FleetSettings

    init(_ settings: FleetSettings) {
        self.settings = settings
    }

    private var names: [String] {
        fileNames(in: settings.shards).filter { ShardName.node(of: $0) != nil }
    }

    /// A shard of this gateway that is not listed and not known to be gone.
    func unlisted(_ shards: [ListedShard], _ registers: [String: Register]) -> String? {
        let known = Set(shards.map(\.name))
        return names.first { !known.contains($0) && registers[Self.goneRegister(of: $0)] == nil }
    }

    /// Removes what is of no use. Throws if a log has vanished whose logs may be nowhere else.
    func clean(
        _ shards: [ListedShard],
        _ registers: [String: Register],
        _ cluster: any ClusterEngine
    ) throws(CommitLogError) {
        let known = Set(shards.map(\.name))
        for name in names where !known.contains(name) {
            if registers[Self.goneRegister(of: name)] == nil { try checkLogs(of: name, cluster) }
            remove(name)
        }
    }

    private func checkLogs(of name: String, _ cluster: any ClusterEngine) throws(CommitLogError) {
        let directory = settings.directory(of: name)
        let logs = try CommitLogError.onQueue(.refused) { () throws(QueueError) in
            try StoredLogs.ofQueue(in: directory, isScratch: true)
        }
        guard let logs, logs.queued > 0 else { return }
        let (log, own) = (cluster.log(of: name).name, StoredLogs.commitLog(in: directory))
        if let own, own != log {
            throw .refused(
                "\(logs.path) has \(logs.queued) undelivered logs of \(own), and the settings of queue.engine name "
                    + "\(log); set cluster and servers as they were, or remove the directory to go on without them"
            )
        }
        throw .refused(
            "the servers do not have the log of the shard \(name) (\(log)), and \(logs.path) has \(logs.queued) "
                + "undelivered logs of it; see that all servers run and are the right ones, restore the log, or remove "
                + "the directory to go on without them"
        )
    }

    func remove(_ name: String) { StoredLogs.removeScratch(in: settings.directory(of: name)) }

    // MARK: - Shards that are gone

    private static let gonePrefix = "gone."
    /// A gateway that was away for longer has to be told that its shard was not lost.
    static let goneAge = Duration.seconds(60 * 86_400)
    /// A cluster that loses a gateway each half hour has as many. More would leave too little room
    /// for the registers of gateways that live.
    static let goneMax = 3000

    /// The register that tells that a shard was absorbed, and is not lost.
    static func goneRegister(of shard: String) -> String { gonePrefix + shard }

    /// Its value: when, in seconds.
    static var goneValue: [UInt8] { Array("\(WallTime.now.seconds)".utf8) }

    static func isGone(
        _ shard: String,
        in cluster: any ClusterEngine
    ) throws(CommitLogError) -> Bool {
        try cluster.registers()[goneRegister(of: shard)] != nil
    }

    /// The marks that are too old, or too many, the oldest first.
    static func outdated(_ gone: [String: WallTime], at now: WallTime = .now) -> [String] {
        let oldest = gone.sorted { $0.value < $1.value }
        let old = oldest.prefix { now - $0.value > goneAge }
        return oldest.prefix(max(old.count, gone.count - goneMax)).map(\.key)
    }

    static func gone(_ registers: [String: Register]) -> [String: WallTime] {
        var gone: [String: WallTime] = [:]
        for (name, register) in registers where name.hasPrefix(gonePrefix) {
            let seconds = Int64(String(decoding: register.value, as: UTF8.self))
            gone[String(name.dropFirst(gonePrefix.count))] =
                seconds.map { WallTime(seconds: $0) } ?? .now
        }
        return gone
    }
}
