import Configuration
import System

/// Whoever showed a key that is known.
struct DeviceSender: Sendable {
    let name: String
    let counter: KeyCounter
    let budget: SenderBudget
    /// Nil where those count that count in general.
    let origins: OriginList?
    private var destinations: Set<String>?

    init(_ name: String, _ rules: SenderRules, _ counter: KeyCounter, bodyBytesMax: Int) {
        self.name = name
        self.counter = counter
        budget = SenderBudget(rules, counter, bodyBytesMax: bodyBytesMax)
        destinations = rules.destinations
        origins = rules.origins
    }

    /// The same one, where it may send to `some` at most.
    func limited(to some: Set<String>?) -> DeviceSender {
        guard let some else { return self }
        var limited = self
        limited.destinations = destinations?.intersection(some) ?? some
        return limited
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
