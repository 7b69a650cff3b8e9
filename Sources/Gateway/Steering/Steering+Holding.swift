import Delivery
import Queue
import System

// To be called on the helm's thread; "*" is every destination.
extension Steering {
    /// Lets the destination send nothing more, or go on.
    func hold(_ name: String, _ isHeld: Bool, _ entry: AuditEntry) throws(Refusal) {
        let names = try names(name)
        let before = decided.withLock(\.held)
        let held = isHeld ? before.union(names) : before.subtracting(names)
        guard held != before else { return }
        var entry = entry
        entry.before = before.sorted().joined(separator: ", ")
        entry.after = held.sorted().joined(separator: ", ")
        let changed = Set(held.symmetricDifference(before).map { Decided.setting(ofHeld: $0) })
        let decision =
            isHeld
            ? Decision(Dictionary(uniqueKeysWithValues: changed.map { ($0, [1]) }), entry)
            : Decision(resets: changed, entry)
        if let refusal = store.store(decision) { throw Refusal(notStored: refusal) }
        decided.withLock { $0.held = held }
        forwarder.hold(held)
        audit.tell(entry)
    }

    /// Lets everything that waits be sent as it is.
    func flush(_ name: String, _ entry: AuditEntry) throws(Refusal) {
        for name in try names(name) { store.flush(name) }
        audit.record(entry)
    }

    private func names(_ name: String) throws(Refusal) -> [String] {
        let all = configuration.withLock { $0.destinations.map(\.name) }
        guard name != Self.all else { return all }
        guard all.contains(name) else { throw .noDestination(name) }
        return [name]
    }
}
