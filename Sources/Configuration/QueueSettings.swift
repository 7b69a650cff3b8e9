package import CommitLog
import NATS
package import Queue
package import System

/// The group `queue`.
package struct QueueSettings: SettingGroup, Sendable, Equatable {
    /// What makes commits durable.
    package enum Engine: String, Sendable, CaseIterable {
        case sqlite
        case jetStream = "jetstream"
        case postgreSQL = "postgresql"
    }

    package var bytesMax = 4 << 30
    package var ageMax: Duration = .seconds(7 * 86_400)
    /// For destinations that say nothing of their own.
    package var overflow = DestinationRules.Overflow.reject
    package var freshPercent = 0
    package var deadLetterAgeMax: Duration = .seconds(30 * 86_400)
    /// Different streams that may wait at a time.
    package var streamsMax = 100_000
    package var durability = Durability.full
    package var freeBytesMin = 256 << 20
    package var engine = Engine.sqlite
    /// How long a commit is tried again while the brokers or the database do not confirm it.
    package var commitWait: Duration = .seconds(8)
    /// nil with another engine.
    package var jetStream: JetStreamSettings? { jetStreamEntry?.settings }
    package var postgreSQL: PostgreSQLSettings? { postgreSQLEntry?.settings }
    var jetStreamEntry: JetStreamEntry?
    var postgreSQLEntry: PostgreSQLEntry?

    static var settings: [Setting<QueueSettings>] {
        Setting("max_bytes", \.bytesMax, bytes) {
            "stored bytes, dead letters included; beyond, devices get 503 and keep their data"
        }
        Setting("max_age", \.ageMax, age) {
            "logs that waited longer are dropped and counted as expired, even after failed attempts"
        }
        Setting("overflow", \.overflow, overflow) {
            "default for [destinations](destinations.md#what-may-wait-for-it) that do not set it"
        }
        .reload(.silent)
        Setting("fresh_first", \.freshPercent, freshPercent) {
            "default for [destinations](destinations.md#what-may-wait-for-it) that do not set it"
        }
        .reload(.silent)
        Setting("dead_letter_age", \.deadLetterAgeMax, age) {
            "older dead letters are dropped and counted as expired"
        }
        Setting("max_streams", \.streamsMax, .count(1...1_000_000)) {
            "different streams (logs of one topic, source and set of tags) that may wait at a "
            "time; shared by destinations and [device keys](budgets.md#shares); beyond, devices "
            "that would need one more get 503 and keep their data, see `fold_tags`"
        }
        // It belongs to the connection that is open.
        Setting("durability", \.durability, .word) {
            "`full` syncs each commit; `normal` survives a crash, and loses [the last "
            "moments](disaster-recovery.md) in a power cut. With `engine: jetstream` it lets "
            "brokers confirm before they have synced; with `postgresql` the server's own settings "
            "decide"
        }
        .reload(.atRestart)
        Setting("min_free_bytes", \.freeBytesMin, .size(0...1 << 50)) {
            "free space on the file system that is left to others"
        }
        // Only a start opens a log.
        Setting("engine", \.engine, .word) {
            "what makes commits durable: `sqlite` the disk of the gateway, `jetstream` the "
            "[brokers](#jetstream) of a NATS cluster, `postgresql` a [database](#postgresql)"
        }
        .reload(.atRestart)
        Setting("commit_wait", \.commitWait, .duration(.seconds(1) ... .seconds(60))) {
            "with `engine: jetstream` or `postgresql`: how long a commit is tried again while the "
            "brokers or the database do not confirm it; then devices get 503 and keep their data; "
            "`1s` to `60s`"
        }
        .reload(.atRestart)
        JetStreamEntry.setting
        PostgreSQLEntry.setting
    }

    // Destinations have these settings too.

    static let bytesLeast = 1 << 20

    static var bytes: Kind<Int> { .size(bytesLeast...1 << 50) }

    static var age: Kind<Duration> { .duration(.seconds(60) ... .seconds(86_400 * 365)) }

    static var overflow: Kind<DestinationRules.Overflow> {
        .word
    }

    /// Beyond 90% a backlog might never end.
    static var freshPercent: Kind<Int> { .percent(upTo: 90) }
}

extension QueueSettings {
    /// The engine's cluster, connecting for up to `patience`, so that most callers are not refused
    /// at first. nil: the engine has none.
    package func cluster(
        _ journal: Journal,
        patience: Duration
    ) throws(SystemError) -> (any ClusterEngine)? {
        let isSynced = durability == .full
        if let settings = jetStream {
            let client = try NATSClient(settings.client, journal: journal)
            try? client.waitUntilConnected(atMost: patience)
            return JetStreamCluster(client, settings, queueBytes: bytesMax, isSynced: isSynced)
        }
        if let settings = postgreSQL {
            return PostgreSQLCluster(
                settings,
                queueBytes: bytesMax,
                isSynced: isSynced,
                journal: journal
            )
        }
        return nil
    }

    /// The name of this gateway in its cluster; nil: the engine has none.
    package var node: String? { jetStream?.node ?? postgreSQL?.node }
}
