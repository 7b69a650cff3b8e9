/// Whoever showed a key that is known.
struct DeviceSender: Sendable {
    let name: String
    let counter: KeyCounter
    private let destinations: Set<String>?

    init(_ key: DeviceKey, _ counter: KeyCounter) {
        name = key.name
        destinations = key.destinations
        self.counter = counter
    }

    /// Refuses a destination that the key is not for. SLS's SDKs take every 403 for one of quota, and its own word for
    /// a lack of rights is 401.
    func check(_ destination: String, _ label: DeviceLabel) throws(Refusal) {
        guard let destinations, !destinations.contains(destination) else { return }
        counter.countRefused(.destination)
        throw Refusal(
            label.isSLS ? 401 : 403,
            "Unauthorized",
            "this key may not send to destination \(clipped(destination)); see devices.keys"
        )
    }
}
