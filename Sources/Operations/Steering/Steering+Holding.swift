import Configuration
import Delivery
package import HTTP
package import Queue
import SQLiteQueue
import System

// To be called on the helm's thread; "*" is every destination.
extension Steering {
    /// Lets the destination send nothing more, or go on. What goes on tries at once what SLS has paused.
    package func hold(_ name: String, _ isHeld: Bool, _ entry: AuditEntry) throws(HTTPProblem) {
        let before = decided.withLock(\.held)
        // A pause of one that is gone would hold it again when it is back.
        let names = isHeld ? try names(name) : try names(name, among: before)
        let held = isHeld ? before.union(names) : before.subtracting(names)
        guard held != before else {
            if !isHeld {
                forwarder.tryAgain(names)
                audit.record(entry)
            }
            return
        }
        var entry = entry
        entry.before = before.sorted().joined(separator: ", ")
        entry.after = held.sorted().joined(separator: ", ")
        let changed = Set(held.symmetricDifference(before).map { Decided.setting(ofHeld: $0) })
        let decision =
            isHeld
            ? Decision(Dictionary(uniqueKeysWithValues: changed.map { ($0, [1]) }), entry)
            : Decision(resets: changed, entry)
        try keep(decision)
        decided.withLock { $0.held = held }
        forwarder.hold(held)
        if !isHeld { forwarder.tryAgain(names) }
        audit.tell(entry)
    }

    /// Lets everything that waits be sent as it is.
    package func flush(_ name: String, _ entry: AuditEntry) throws(HTTPProblem) {
        for name in try names(name) { store.flush(name) }
        audit.record(entry)
    }

    /// Those that run, and others.
    private func names(
        _ name: String,
        among others: Set<String> = []
    ) throws(HTTPProblem) -> Set<String> {
        let all = configuration.withLock { $0.destinations.map(\.name) }
        guard name != Self.all else { return others.union(all) }
        guard all.contains(name) || others.contains(name) else { throw absent(name) }
        return [name]
    }
}
