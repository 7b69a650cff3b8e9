package import Queue
package import System

/// Records who changed what, in the queue's database for `GET /admin/audit` and in the journal.
package struct AuditTrail: Sendable {
    private let decisions: any Decisions
    private let journal: Journal
    private let counters: OperatorCounters

    package init(decisions: any Decisions, journal: Journal, counters: OperatorCounters) {
        self.decisions = decisions
        self.journal = journal
        self.counters = counters
    }

    /// Records a change that is made already. If the line cannot be stored, the journal still has
    /// it.
    package func record(_ entry: AuditEntry) {
        tell(entry)
        decisions.decide(Decision([:], entry)) { [self] refusal in
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
