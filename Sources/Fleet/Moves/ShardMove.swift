import CommitLog
import Queue
import System

/// What the two directions of a move have in common.
enum ShardMove {
    /// The node in the names of shards that were local queues. No gateway takes such a shard for
    /// its own former home.
    static let node = "moved"

    static func onEngine<Value>(
        _ body: () throws(CommitLogError) -> Value
    ) throws(ShardProblem) -> Value {
        do throws(CommitLogError) {
            return try body()
        } catch {
            throw ShardProblem(error)
        }
    }

    static func onQueue<Value>(
        _ body: () throws(QueueError) -> Value
    ) throws(ShardProblem) -> Value {
        do throws(QueueError) {
            return try body()
        } catch {
            throw ShardProblem(error)
        }
    }

    static func isGone(
        _ shard: String,
        _ cluster: any ClusterEngine
    ) throws(ShardProblem) -> Bool {
        try onEngine { () throws(CommitLogError) in
            try cluster.registers()[ShardDirectories.goneRegister(of: shard)] != nil
        }
    }
}
