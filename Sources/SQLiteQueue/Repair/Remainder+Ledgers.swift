import Queue

/// The ledger arithmetic of a salvage.
///
/// The new database begins with the ledgers of the damaged one. `queued` and `dead` hold the
/// counted logs that were not found yet. Each log that is found is subtracted there, and the rest
/// at the end is lost.
extension Remainder {
    /// The ledger of a destination in the new database. All its queued and dead logs are still to
    /// be found.
    mutating func begin(_ destination: String, with old: Ledger) -> Ledger {
        var ledger = old
        if !old.isClosed {
            // If the ledger does not add up, the counts of logs that came and left are trusted more
            // than the counts of present logs.
            let here = max(0, old.accepted - old.delivered - old.expired - old.discarded)
            let dead = min(old.dead, here)
            ledger.close(queued: here - dead, dead: dead)
        }
        queued[destination] = ledger.queued
        dead[destination] = ledger.dead
        return ledger
    }

    /// Subtracts logs that an earlier salvage has not copied yet: the ledgers count them too, but
    /// they are in another file.
    mutating func leaveOut(_ earlier: Remainder) {
        for (name, logs) in earlier.queued { queued[name]? -= logs }
        for (name, logs) in earlier.dead { dead[name]? -= logs }
    }

    /// A ledger for each destination that has none in the new database. All its logs are still to
    /// be copied.
    func ledgers(besides known: Set<String>) -> [String: Ledger] {
        var new: [String: Ledger] = [:]
        for name in Set(queued.keys).union(dead.keys).subtracting(known) {
            var ledger = Ledger()
            ledger.close(queued: max(0, queued[name] ?? 0), dead: max(0, dead[name] ?? 0))
            new[name] = ledger
        }
        return new
    }

    /// Counts waiting logs or dead letters that were found.
    mutating func found(
        _ logs: Int64,
        of destination: String,
        areDead: Bool,
        in ledger: inout Ledger
    ) {
        savedLogs += logs
        let own: WritableKeyPath<Remainder, [String: Int64]> = areDead ? \.dead : \.queued
        let other: WritableKeyPath<Remainder, [String: Int64]> = areDead ? \.queued : \.dead
        // A log that counts as queued and is found dead, or the reverse, is not lost. A log that
        // the ledger does not count at all was accepted after the ledger was written.
        let known = max(0, min(logs, self[keyPath: own][destination] ?? 0))
        let changed = max(0, min(logs - known, self[keyPath: other][destination] ?? 0))
        self[keyPath: own][destination, default: 0] -= known
        self[keyPath: other][destination, default: 0] -= changed
        let new = logs - known - changed
        ledger.accepted += new
        if areDead {
            ledger.queued -= changed
            ledger.dead += changed + new
        } else {
            ledger.queued += changed + new
            ledger.dead -= changed
        }
    }

    /// Counts logs that are not copied because the destination has stored them.
    mutating func delivered(_ logs: Int64, of destination: String, in ledger: inout Ledger) {
        let known = min(logs, max(0, queued[destination] ?? 0))
        queued[destination, default: 0] -= known
        ledger.queued -= known
        ledger.delivered += known
    }

    /// The ledger after everything is copied. Logs that were not found are lost.
    func end(_ destination: String, with old: Ledger) -> Ledger {
        var ledger = old
        ledger.close(
            queued: old.queued - (queued[destination] ?? 0),
            dead: old.dead - (dead[destination] ?? 0)
        )
        return ledger
    }
}
