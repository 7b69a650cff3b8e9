/// The keys in use: looked at with each request, replaced with a reload.
package final class DeviceDoor: Sendable {
    let keys: Replaceable<DeviceKeys>

    package init(_ keys: [DeviceKey]) {
        self.keys = Replaceable(DeviceKeys(keys))
    }

    func replace(_ new: [DeviceKey]) {
        keys.replace { DeviceKeys(new, after: $0) }
    }

    /// By the name of the key.
    var counts: [(name: String, counts: KeyCounter.Counts)] {
        keys.value.senders.map { ($0.name, $0.counter.counts) }
    }
}
