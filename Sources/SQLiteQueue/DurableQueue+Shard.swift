import Queue
import System

/// What a queue is to the fleet of shards that it belongs to. Answers come on the queue's thread.
extension DurableQueue {
    /// The shard that absorbs this one; nil: none does.
    package var cededTo: String? { door.absorptionState.withLock { $0.cededTo } }

    /// Another gateway has the shard now.
    package var isLost: Bool { door.status.withLock { $0.problem?.kind == .fenced } }

    /// The shards that this one absorbs, and how far that is.
    package var absorptions: [String: AbsorptionProgress] {
        door.absorptionState.withLock { $0.absorptions }
    }

    /// The present epoch of the commit log; 0: there is no log.
    package var epoch: Int { door.status.withLock { $0.commitLog?.epoch ?? 0 } }

    /// The last entry of the commit log that this gateway knows.
    package var lastEntry: Int { door.status.withLock { $0.commitLog?.entry ?? 0 } }

    /// Makes this the shard's last transaction if nothing waits in it. Answers whether it is.
    package func cede(to shard: String, whenDurable: @escaping @Sendable (Bool) -> Void) {
        door.post(.shard(.cede(to: shard, whenDurable)))
    }

    /// Notes that this shard is about to absorb another one. Answers whether that is durable.
    package func intend(toAbsorb shard: String, whenDurable: @escaping @Sendable (Bool) -> Void) {
        door.post(.shard(.intend(shard, whenDurable)))
    }

    /// Takes over what a ceded shard has left, from its directory, which no queue uses.
    package func absorb(
        _ shard: String,
        in directory: String,
        whenDone: @escaping @Sendable (AbsorptionOutcome) -> Void
    ) {
        door.post(.shard(.absorb(shard, from: directory, whenDone)))
    }

    /// Forgets that the shard was absorbed: its log is gone.
    package func forget(absorbed shard: String, whenDurable: @escaping @Sendable (Bool) -> Void) {
        door.post(.shard(.forget(shard, whenDurable)))
    }
}
