package import Queue
package import System

/// Records who changed what, in the queue's database for `GET /admin/audit` and in the journal.
package struct AuditTrail: Sendable {
    private let decisions: any Decisions
    private let journal: Journal
    private let counters: OperatorCounters
    private let looks = RecordedLooks()

    package init(decisions: any Decisions, journal: Journal, counters: OperatorCounters) {
        self.decisions = decisions
        self.journal = journal
        self.counters = counters
    }

    /// Records a change that is made already. If the line cannot be stored, the journal still has
    /// it. Exports and logins that are repeated are counted, but mostly left out of both.
    package func record(_ entry: AuditEntry, at now: Moment = .now) {
        var entry = entry
        if entry.isLook {
            guard let left = looks.take(entry, now) else { return counters.countChange(entry) }
            if left > 0 { entry.after = "\(left) more since the last entry of this kind" }
        }
        tell(entry)
        decisions.decide(Decision([:], entry)) { [self, entry] refusal in
            if let refusal { missing(entry, refusal.reason) }
        }
    }

    func missing(_ entry: AuditEntry, _ reason: String) {
        journal.warning(
            "a change is missing from the audit log",
            ["action": entry.action, "subject": entry.subject, "reason": reason]
        )
    }

    func tell(_ entry: AuditEntry) {
        counters.countChange(entry)
        journal.info(
            "changed by an operator",
            [
                "actor": entry.actor, "address": entry.address, "action": entry.action,
                "subject": entry.subject, "before": entry.before, "after": entry.after,
            ]
        )
    }
}

/// How many exports and logins of each actor may still be recorded: some at once, then one a
/// minute.
private final class RecordedLooks: Sendable {
    private struct Allowance {
        var entries: Int
        var since: Moment
        var leftOut = 0
    }

    private static let burst = 20
    private static let pause: Duration = .seconds(60)
    /// Actors are tokens, with the certificates of their holders.
    private static let keptMax = 1024

    private let allowances = Locked<[String: Allowance]>([:])

    /// How many were left out before this one; nil: leave it out.
    func take(_ entry: AuditEntry, _ now: Moment) -> Int? {
        allowances.withLock { allowances in
            let key = "\(entry.actor) \(entry.action)"
            if allowances[key] == nil, allowances.count >= Self.keptMax {
                allowances = allowances.filter { now - $0.value.since < Self.pause * Self.burst }
                if allowances.count >= Self.keptMax { return nil }
            }
            var own = allowances[key] ?? Allowance(entries: Self.burst, since: now)
            let minutes = Int((now - own.since) / Self.pause)
            if minutes > 0 {
                own.entries = min(Self.burst, own.entries + minutes)
                own.since = own.since + Self.pause * minutes
            }
            defer { allowances[key] = own }
            guard own.entries > 0 else {
                own.leftOut += 1
                return nil
            }
            own.entries -= 1
            let leftOut = own.leftOut
            own.leftOut = 0
            return leftOut
        }
    }
}
