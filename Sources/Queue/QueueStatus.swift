package import System

/// The queue at its last commit, as metrics and the admin API show it.
package struct QueueStatus: Sendable, Equatable {
    package struct Outlet: Sendable, Equatable {
        /// Logs that are here.
        package var queued = 0
        package var packets = 0
        /// When the oldest of them was accepted.
        package var oldest: WallTime?
        /// Packets that delivery may still be given.
        package var demand = 0
        /// Packets that have a lane.
        package var lanesInUse = 0

        package init() {}
    }

    package struct Destination: Sendable, Equatable {
        package var ledger = Ledger()
        package var volumes = Volumes()
        /// When the oldest log that is still here was accepted. Looked at once a second.
        package var oldest: WallTime?
        /// Packets that delivery may still be given.
        package var demand = 0
        /// Packets sealed and not acknowledged.
        package var packets = 0
        /// What its dead letters, whose number is in the ledger, take of its bytes.
        package var deadBytes = 0
        /// Logs of refused packets that were dropped as the operator wants, since the start, and what the last
        /// of them was refused for; in the ledger they are among the discarded.
        package var refusedLogs = 0
        package var lastRefusal: DeathReason?
        /// Logs by which the ledger does not say what is here; 0 is as it must be. Looked at once a second.
        package var imbalance = 0
        /// What it takes of the queue, and what it may; nil has no bound but the queue's own.
        package var bytes = 0
        package var bytesMax: Int?
        /// What is said to its batches.
        package var admission = QueueAdmission.open
        /// Logstores that have logs, and how many may; batches for others are refused.
        package var logstores = 0
        package var logstoresMax = 0
        /// Lanes of each logstore; 0 when packets go without.
        package var lanes = 0
        /// Logs that made room for others since the start; in the ledger they are among the expired.
        package var dropped = 0
        /// By logstore, those that have logs. Looked at once a second.
        package var outlets: [String: Outlet] = [:]

        package init() {}
    }

    /// Requests with an identity.
    package struct Repeats: Sendable, Equatable {
        /// Remembered now.
        package var known = 0
        /// Sent again, and not stored a second time. Counted since the start, as what follows.
        package var repeated = 0
        /// Forgotten before their age, because there were too many.
        package var forgottenEarly = 0

        package init() {}
    }

    package var admission = QueueAdmission.open
    /// Why it is failing, with the remedy; nil while it works.
    package var problem: QueueError?
    /// Queued, compressed, with what rows and streams cost besides.
    package var bytes = 0
    package var bytesMax = 0
    package var rows = 0
    package var streams = 0
    package var packets = 0
    package var streamRefusals = StreamRefusals()
    package var destinations: [String: Destination] = [:]
    /// By destination and code.
    package var deadLetters: [DeadLetterSum] = []
    /// Bytes that wait for a commit, before compression and with the streams they go to.
    package var waitingBytes = 0
    package var recentBytes = 0
    package var repeats = Repeats()

    package var databaseBytes = 0
    package var logBytes = 0
    package var freeBytes = 0

    // Counted since the start.
    package var commits = 0
    /// Together and the longest, of the commits alone.
    package var commitTime = Duration.zero
    package var commitTimeMax = Duration.zero
    package var checkpoints = 0
    package var failures = 0
    /// Damaged databases moved aside, and what was saved from them and was not, in logs.
    package var salvages = 0
    package var salvagedLogs = 0
    package var lostLogs = 0
    /// Damaged databases that are kept aside, logs in them that are yet to be copied, and how many were deleted.
    package var damagedCopies = 0
    /// Bytes of those that are never deleted.
    package var unsavedCopyBytes = 0
    package var asideLogs = 0
    package var damagedCopiesRemoved = 0
    /// Logs by which ledgers had to be put right at start.
    package var repairedLogs = 0
    /// How often a ledger was found not to agree with the queue while it ran.
    package var ledgerImbalances = 0
    /// Refused packets that were taken apart, and those that wait for it.
    package var isolations = 0
    package var isolationsWaiting = 0
    /// Packets that got another lane, because SLS had seen their number.
    package var relanes = 0

    package init() {}

    /// All destinations together.
    package var ledger: Ledger {
        destinations.values.reduce(Ledger()) { $0 + $1.ledger }
    }

    package var oldest: WallTime? {
        destinations.values.compactMap(\.oldest).min()
    }
}

/// Batches that were refused for the streams they would need, by whose share was used up.
package struct StreamRefusals: Sendable, Equatable {
    package var queue = 0
    package var destination = 0
    package var sender = 0

    package init() {}
}
