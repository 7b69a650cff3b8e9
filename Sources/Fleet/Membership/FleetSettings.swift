package import SQLiteQueue

/// What a gateway needs to take part in a cluster.
package struct FleetSettings: Sendable {
    /// The name of this gateway, another one for each.
    package var node: String
    /// The directory in which each shard has one of its own.
    package var directory: String
    /// How each shard is kept, but for its directory, number and commit log.
    package var queue: QueueConfiguration
    package var keyFingerprint: String?
    package var timing = FleetTiming()

    package init(node: String, directory: String, queue: QueueConfiguration) {
        self.node = node
        self.directory = directory
        self.queue = queue
    }

    func directory(of shard: String) -> String { "\(shards)/\(shard)" }

    var shards: String { "\(directory)/shards" }
}

/// The times by which gateways of a cluster notice that another one is gone.
package struct FleetTiming: Sendable, Equatable {
    /// A gateway tells that it lives, and looks at the others.
    package var heartbeat: Duration = .seconds(3)
    /// A gateway that did not tell it for so long is taken for dead.
    package var deadAfter: Duration = .seconds(12)
    /// After so long without a heartbeat it begins no request: another may be about to.
    package var trustedFor: Duration = .seconds(9)
    /// A longer time between two looks says nothing about others.
    package var gap: Duration = .seconds(8)
    /// The home shard of a gateway that has stopped waits for its return.
    package var returnTime: Duration = .seconds(15)
    /// A home shard that cannot be written for so long, although the cluster can be reached, is
    /// replaced.
    package var replaceAfter: Duration = .seconds(60)
    /// Shards of this gateway that no list has count as lost so long after the first list.
    package var unlisted: Duration = .seconds(30)
    /// Rivals for an orphan wait at random up to this, and as long again per adopted shard.
    package var rivalWait: Duration = .seconds(2)
    /// The pause after a failed adoption. It doubles with each failure.
    package var retry: Duration = .seconds(30)
    package var retryMax: Duration = .seconds(3600)
    /// A register without a gateway and without shards is removed.
    package var forgetAfter: Duration = .seconds(600)

    package init() {}
}
