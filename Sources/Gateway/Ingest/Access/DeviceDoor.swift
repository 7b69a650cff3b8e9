/// The keys in use: looked at with each request, replaced with a reload.
package final class DeviceDoor: Sendable {
    let keys: Replaceable<DeviceKeys>
    private let bodyBytesMax: Int

    /// No body has more than `bodyBytesMax`.
    package init(_ keys: [DeviceKey], bodyBytesMax: Int) {
        self.bodyBytesMax = bodyBytesMax
        self.keys = Replaceable(DeviceKeys(keys, bodyBytesMax: bodyBytesMax))
    }

    func replace(_ new: [DeviceKey]) {
        keys.replace { DeviceKeys(new, after: $0, bodyBytesMax: bodyBytesMax) }
    }

    /// By the name of the key.
    var counts: [(name: String, counts: KeyCounter.Counts)] {
        keys.value.senders.map { ($0.name, $0.counter.counts) }
    }
}
