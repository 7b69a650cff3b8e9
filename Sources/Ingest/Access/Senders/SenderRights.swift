import System

/// Where a sender may send. A test of routes and a replay use it without the sender's counters and
/// budget.
struct SenderRights: Sendable {
    /// nil: everywhere.
    var destinations: Set<String>?

    func limited(to some: Set<String>?) -> SenderRights {
        guard let some else { return self }
        return SenderRights(destinations: destinations?.intersection(some) ?? some)
    }

    func allows(_ name: String) -> Bool { destinations?.contains(name) ?? true }

    func check(_ name: String) throws(Refusal) {
        guard !allows(name) else { return }
        throw Refusal(
            403,
            "Unauthorized",
            "this key may not send to destination \(clipped(name)); see devices.keys"
        )
    }
}
