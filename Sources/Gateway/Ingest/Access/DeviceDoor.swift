import Synchronization
import System

/// The keys in use: looked at with each request, replaced with a reload.
package final class DeviceDoor: Sendable {
    private let keys: Locked<DeviceKeys>
    /// Counted up after the keys have changed, so that who sees the new number finds the new keys.
    private let generation = Atomic<Int>(0)

    package init(_ keys: [DeviceKey]) {
        self.keys = Locked(DeviceKeys(keys))
    }

    func replace(_ new: [DeviceKey]) {
        keys.withLock { $0 = DeviceKeys(new, after: $0) }
        generation.add(1, ordering: .releasing)
    }

    /// By the name of the key.
    var counts: [(name: String, counts: KeyCounter.Counts)] {
        keys.withLock(\.senders).map { ($0.name, $0.counter.counts) }
    }

    /// A loop's own copy. While the keys stay the same, a look at one number is all it costs.
    struct Snapshot {
        private let door: DeviceDoor
        private let generation: Int
        let keys: DeviceKeys

        init(of door: DeviceDoor) {
            self.door = door
            generation = door.generation.load(ordering: .acquiring)
            keys = door.keys.withLock { $0 }
        }

        mutating func refresh() {
            guard door.generation.load(ordering: .acquiring) != generation else { return }
            self = Snapshot(of: door)
        }
    }
}
