package import SQLiteQueue
import System

/// What a gateway needs to take part in a cluster.
package struct FleetSettings: Sendable {
    /// The name of this gateway, another one for each.
    package var node: String
    /// The directory in which each shard has one of its own.
    package var directory: String
    /// How each shard is kept, but for its directory, number and commit log.
    package var queue: QueueConfiguration
    /// See `NodeRegister.keyFingerprint`.
    package var keyFingerprint: String?
    package var timing = FleetTiming()

    package init(node: String, directory: String, queue: QueueConfiguration) {
        self.node = node
        self.directory = directory
        self.queue = queue
    }

    /// The directory of one shard.
    func directory(of shard: String) -> String { "\(shards)/\(shard)" }

    var shards: String { "\(directory)/shards" }
}

/// The times by which gateways of a cluster notice that another one is gone.
package struct FleetTiming: Sendable, Equatable {
    /// A gateway tells that it lives, and looks at the others.
    package var heartbeat: Duration = .seconds(3)
    /// A gateway that did not tell it for so long is taken for dead.
    package var deadAfter: Duration = .seconds(12)
    /// A gateway that could not tell it for so long begins no more requests: another one may be
    /// about to.
    package var trustedFor: Duration = .seconds(9)
    /// A longer time between two looks says nothing about others.
    package var gap: Duration = .seconds(8)
    /// The home shard of a gateway that has stopped waits for its return.
    package var returnTime: Duration = .seconds(15)
    /// Shards that this gateway had and that the servers do not list count as lost so long after
    /// their first list.
    package var unlisted: Duration = .seconds(30)
    /// Rivals for an orphan wait a random time, up to this and as long again for each shard that
    /// they have adopted.
    package var rivalWait: Duration = .seconds(2)
    /// The pause before a shard that could not be adopted is tried again. It doubles with each
    /// failure.
    package var retry: Duration = .seconds(30)
    /// The longest such pause.
    package var retryMax: Duration = .seconds(3600)
    /// A register without a gateway and without shards is removed.
    package var forgetAfter: Duration = .seconds(600)

    package init() {}
}
