import Queue
import SQLite
import System

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

/// The damaged databases that are kept.
final class DamagedCopies {
    private let directory: DataDirectory
    private let room: DiskRoom
    private let journal: Journal
    private(set) var count = 0
    /// Bytes of the copies that are never deleted, because they may have the only copy of logs.
    private(set) var unsavedBytes = 0
    private var told: [String] = []
    private(set) var deletedCount = 0

    init(_ directory: DataDirectory, _ room: DiskRoom, _ journal: Journal) {
        self.directory = directory
        self.room = room
        self.journal = journal
    }

    /// Deletes copies whose readable content is in the queue, oldest first; false: none.
    @discardableResult
    func trim(to most: Int, atMost limit: Int = .max, beside store: OpenStore?) -> Bool {
        let deleted = directory.removeDamagedCopies(
            keeping: most,
            atMost: limit,
            inUse: (store?.acknowledgements.remainders ?? []).map(\.file)
        )
        for aside in deleted {
            deletedCount += 1
            journal.warning(
                "a kept damaged database is deleted; the queue has all its readable logs",
                ["deleted": aside, "free_bytes": room.freeBytes]
            )
        }
        recount(beside: store)
        return !deleted.isEmpty
    }

    /// Counts the copies. The journal names each that stays for ever and from which nothing is
    /// copied: only a person can decide that its logs are not needed, and delete it.
    func recount(beside store: OpenStore?) {
        count = directory.damagedCopies.count
        let unsaved = directory.unsavedCopies
        unsavedBytes = unsaved.reduce(0) { $0 + directory.bytes(of: $1) }
        guard let store else { return }
        let inUse = Set(store.acknowledgements.remainders.map(\.file))
        let left = unsaved.filter { !inUse.contains(directory.name(of: $0)) }
        defer { told = left }
        guard !left.isEmpty, left != told else { return }
        journal.warning(
            "damaged databases are kept that may have the only copy of logs; the gateway never deletes them",
            [
                "files": left.map(directory.name).joined(separator: " "), "bytes": unsavedBytes,
                "free_bytes": room.freeBytes,
                "remedy": "check the disk and copy them elsewhere; "
                    + "then delete each with the file …-unsaved beside it",
            ]
        )
    }
}
