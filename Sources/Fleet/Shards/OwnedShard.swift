import Queue
import SQLiteQueue

/// A shard that this gateway has, home or adopted.
struct OwnedShard: Sendable {
    let name: String
    let shard: Shard
    let queue: DurableQueue
}
