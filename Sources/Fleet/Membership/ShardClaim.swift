import CommitLog
import System

/// Tells the others that a gateway lives while it reads the log of its home shard, which may take
/// minutes.
final class ShardClaim: Sendable {
    private let own: Locked<NodeRegister>
    private let isOver = Locked(false)
    private let wake: WakeUp
    private let worker = Locked<Worker?>(nil)

    init(
        _ own: NodeRegister,
        _ cluster: any ClusterEngine,
        every pause: Duration
    ) throws(SystemError) {
        self.own = Locked(own)
        wake = try WakeUp()
        let started = try Worker("fleet") { [self] in
            while !isOver.withLock({ $0 }) {
                wake.wait(timeout: pause)
                let register = self.own.withLock { $0 }
                guard register.home != nil else { continue }
                // If it fails, the next one may not.
                try? cluster.set(register.name, to: register.bytes)
            }
        }
        worker.withLock { $0 = started }
    }

    /// The shard that is read.
    func claim(_ shard: String) {
        own.withLock { own in
            own.home = shard
            // The epoch is not known yet.
            own.shards = [shard: NodeRegister.readingEpoch]
        }
        wake.signal()
    }

    func stop() {
        isOver.withLock { $0 = true }
        wake.signal()
        worker.withLock { $0.take() }?.join()
    }
}
