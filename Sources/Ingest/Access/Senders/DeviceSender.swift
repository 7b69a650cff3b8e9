import Configuration
import System

/// The sender that a known key belongs to.
struct DeviceSender: Sendable {
    let name: String
    let counter: KeyCounter
    let budget: SenderBudget
    /// nil: the common list applies.
    let origins: OriginList?
    /// nil: all.
    private(set) var destinations: Set<String>?

    init(_ name: String, _ rules: SenderRules, _ counter: KeyCounter, bodyBytesMax: Int) {
        self.name = name
        self.counter = counter
        budget = SenderBudget(rules, counter, bodyBytesMax: bodyBytesMax)
        destinations = rules.destinations
        origins = rules.origins
    }

    /// The same sender, restricted to `some` destinations.
    func limited(to some: Set<String>?) -> DeviceSender {
        guard let some else { return self }
        var limited = self
        limited.destinations = destinations?.intersection(some) ?? some
        return limited
    }

    func maySend(to destination: String) -> Bool { destinations?.contains(destination) ?? true }

    /// Refuses a destination that the key has no right to. SLS's SDKs treat every 403 as a quota error; SLS itself
    /// answers 401 for missing rights.
    func check(_ destination: String, _ label: DeviceLabel) throws(Refusal) {
        guard !maySend(to: destination) else { return }
        counter.countRefused(.destination)
        throw Refusal(
            label.isSLS ? 401 : 403,
            "Unauthorized",
            "this key may not send to destination \(clipped(destination)); see devices.keys"
        )
    }
}
