package import Configuration
package import HTTP
package import Queue
package import System

/// Writes down who changed what: into the database, from where it can be read back, and into the journal.
package struct AuditTrail: Sendable {
    package let decisions: any Decisions
    package let journal: Journal
    package let counters: OperatorCounters

    package init(decisions: any Decisions, journal: Journal, counters: OperatorCounters) {
        self.decisions = decisions
        self.journal = journal
        self.counters = counters
    }

    /// What a change is told with.
    package func entry(
        _ holder: AdminHolder,
        _ head: RequestHead,
        _ action: String,
        _ subject: String,
        before: String = "",
        after: String = ""
    ) -> AuditEntry {
        AuditEntry(
            actor: holder.name(at: head.peer),
            address: head.peer.host,
            action: action,
            subject: subject,
            before: before,
            after: after
        )
    }

    /// For what is done already: should the line not be kept, the journal still has it.
    package func record(_ entry: AuditEntry) {
        tell(entry)
        decisions.decide(Decision([:], entry)) { [self] refusal in
            if let refusal { missing(entry, refusal.reason) }
        }
    }

    func missing(_ entry: AuditEntry, _ reason: String) {
        journal.warning(
            "a change is missing in the audit log",
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
