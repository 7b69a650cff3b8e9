import Queue
import System

/// The queue's watcher. The queue starts before its watcher is known, and stores come and go while
/// it stays.
final class WatcherSlot: Sendable {
    private let watcher = Locked<(any QueueWatcher)?>(nil)

    /// nil: nothing watches the queue yet.
    var current: (any QueueWatcher)? { watcher.withLock { $0 } }

    var wantsEnds: Bool { current?.wantsEnds ?? false }

    func set(_ new: any QueueWatcher) { watcher.withLock { $0 = new } }
}
