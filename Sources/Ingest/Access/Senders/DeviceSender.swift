import Configuration
import System

/// The sender that a known key belongs to.
struct DeviceSender: Sendable {
    let name: String
    let counter: KeyCounter
    let budget: SenderBudget
    /// nil: the common list applies.
    let origins: OriginList?
    private(set) var rights: SenderRights

    init(_ name: String, _ rules: SenderRules, _ counter: KeyCounter, bodyBytesMax: Int) {
        self.name = name
        self.counter = counter
        budget = SenderBudget(rules, counter, bodyBytesMax: bodyBytesMax)
        rights = SenderRights(destinations: rules.destinations)
        origins = rules.origins
    }

    /// The same sender, restricted to `some` destinations.
    func limited(to some: Set<String>?) -> DeviceSender {
        var limited = self
        limited.rights = rights.limited(to: some)
        return limited
    }

    func maySend(to destination: String) -> Bool { rights.allows(destination) }

    /// Refuses a destination that the key has no right to. SLS's SDKs treat every 403 as a quota
    /// error; SLS itself answers 401 for missing rights.
    func check(_ destination: String, _ label: DeviceLabel) throws(Refusal) {
        guard !maySend(to: destination) else { return }
        counter.refused.count(.destination)
        throw Refusal(
            label.isSLS ? 401 : 403,
            "Unauthorized",
            "this key may not send to destination \(clipped(destination)); see devices.keys"
        )
    }
}
