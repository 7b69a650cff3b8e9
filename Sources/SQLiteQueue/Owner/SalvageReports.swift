import SQLite
import System

/// Reports the copying of damaged databases in the journal.
struct SalvageReports {
    private let journal: Journal
    /// For waiting logs: reported once, not for each step.
    private var waitPause = JournalPause(.seconds(600))

    init(_ journal: Journal) {
        self.journal = journal
    }

    func damaged(_ damage: SQLiteError, keptAs aside: String) {
        journal.error(
            "queue database is damaged and is moved aside",
            ["reason": damage, "kept": aside]
        )
    }

    func mendedIndexes(because damage: SQLiteError) {
        journal.error(
            "an index of the queue database was damaged and is rebuilt from its table",
            ["reason": damage, "remedy": "check the disk"]
        )
    }

    /// Reports that all readable content is copied, and how many logs are lost.
    func done(lost: Int64, _ remainder: Remainder, from aside: String) {
        journal.error(
            "queue database was rebuilt from what could be read",
            ["saved_logs": remainder.savedLogs, "lost_logs": lost, "kept": aside]
        )
        guard remainder.hasUnreadable else { return }
        journal.error(
            "parts of a damaged queue stayed unreadable and count as lost",
            [
                "kept": aside,
                "remedy": "check the disk; the file is kept until you delete it",
            ]
        )
    }

    mutating func noRoom(for remainder: Remainder, from aside: String, freeBytes: Int) {
        guard waitPause.tryStart() else { return }
        journal.warning(
            "the disk has no room for all of a damaged queue; the rest is copied as logs leave",
            [
                "saved_logs": remainder.savedLogs, "waiting_logs": remainder.logs,
                "kept": aside, "free_bytes": freeBytes,
                "remedy": "leave the file where it is; free disk space to have it done sooner",
            ]
        )
    }

    /// Reports that there is too little room for another step.
    mutating func waiting(_ remainders: [Remainder], freeBytes: Int) {
        guard waitPause.tryStart() else { return }
        journal.warning(
            "logs of a damaged queue wait until others have left",
            [
                "logs": remainders.reduce(0) { $0 + $1.logs },
                "files": remainders.map(\.file).joined(separator: " "),
                "free_bytes": freeBytes,
                "remedy": "leave the files where they are; free disk space to have it done sooner",
            ]
        )
    }

    func cannotOpen(_ aside: String) {
        journal.warning(
            "a damaged queue that is kept aside cannot be opened; its logs wait",
            [
                "file": aside,
                "remedy": "let the gateway read and write it; it tries again each minute",
            ]
        )
    }

    func cannotRead(
        _ error: SQLiteError,
        _ remainder: Remainder,
        from aside: String,
        attempts: Int
    ) {
        let prospect =
            error.isUnreadable
            ? "after \(attempts) attempts, a minute apart, what still cannot be read counts as lost"
            : "the gateway tries again each minute"
        journal.warning(
            "a damaged queue that is kept aside cannot be read; its logs wait",
            [
                "reason": error, "waiting_logs": remainder.logs, "kept": aside,
                "remedy": "check the disk; \(prospect)",
            ]
        )
    }

    func lost(_ losses: Salvage.Losses) {
        if losses.ledger {
            journal.warning(
                "the ledger could not be read, so the number of lost logs is unknown",
                ["remedy": "look up what sluice_logs_queued and sluice_logs_dead were last"]
            )
        }
        if losses.decisions {
            journal.warning(
                "settings changed at run time are lost, and the configuration applies",
                ["remedy": "look for 'changed by an operator' in the journal, and decide it again"]
            )
        }
        if losses.repeats {
            journal.warning(
                "some requests are no longer remembered: one that a device repeats may be stored twice"
            )
        }
    }
}
