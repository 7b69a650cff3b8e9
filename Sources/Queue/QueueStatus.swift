package import System

/// The queue at its last commit, as metrics and the admin API show it.
package struct QueueStatus: Sendable, Equatable {
    package struct Outlet: Sendable, Equatable {
        /// Logs in the queue.
        package var queued = 0
        package var packets = 0
        /// The time at which the oldest of them was accepted.
        package var oldest: WallTime?
        /// The number of packets that delivery has requested and not received.
        package var demand = 0
        /// Packets that have a lane.
        package var lanesInUse = 0

        package init() {}
    }

    package struct Destination: Sendable, Equatable {
        package var ledger = Ledger()
        package var volumes = Volumes()
        /// The time at which the oldest queued log was accepted. Updated once a second.
        package var oldest: WallTime?
        /// The number of packets that delivery has requested and not received.
        package var demand = 0
        /// Packets sealed and not acknowledged.
        package var packets = 0
        /// The part of `bytes` that its dead letters take. The ledger has their number.
        package var deadBytes = 0
        /// Logs of refused packets dropped on the operator's wish since the start, and the last
        /// reason. The ledger counts them as discarded.
        package var refusedLogs = 0
        package var lastRefusal: DeathReason?
        /// The ledger's difference from the queued logs; 0 is correct. Updated once a second.
        package var imbalance = 0
        /// Its bytes in the queue, and its own bound, if it has one besides the queue's.
        package var bytes = 0
        package var bytesMax: Int?
        /// The answer to its batches.
        package var admission = QueueAdmission.open
        /// The logstores that have logs, and their bound, beyond which the queue refuses batches.
        package var logstores = 0
        package var logstoresMax = 0
        /// Lanes of each logstore; 0 without `exactly_once`.
        package var lanes = 0
        /// Logs that made room for others since the start. The ledger counts them as expired.
        package var dropped = 0
        /// The logstores that have logs. Updated once a second.
        package var outlets: [String: Outlet] = [:]

        package init() {}
    }

    /// Transactions since the start.
    package struct Commits: Sendable, Equatable {
        package var count = 0
        package var byReason = Counts<CommitReason>()
        /// Requests that they answered, and rows that they stored.
        package var requests = 0
        package var rows = 0
        /// The time of all commits together, and of the longest one.
        package var time = Duration.zero
        package var timeMax = Duration.zero

        package init() {}
    }

    /// Requests with an identity.
    package struct Repeats: Sendable, Equatable {
        /// The number of remembered requests.
        package var known = 0
        /// Requests that were repeated and not stored again since the start, as for the next one.
        package var repeated = 0
        /// Requests that were forgotten before their age, because there were too many.
        package var forgottenEarly = 0

        package init() {}
    }

    package var admission = QueueAdmission.open
    /// The reason for `failing`, or for a full commit log, with the remedy.
    package var problem: QueueError?
    /// Queued bytes, compressed, including the cost of rows and streams.
    package var bytes = 0
    package var bytesMax = 0
    package var rows = 0
    package var streams = 0
    package var packets = 0
    package var streamRefusals = StreamRefusals()
    package var destinations: [String: Destination] = [:]
    /// Since the ledgers began.
    package var intake = IntakeTally()
    /// By destination and code.
    package var deadLetters: [DeadLetterSum] = []
    /// Bytes that wait for a commit, before compression and including their streams.
    package var waitingBytes = 0
    package var recentBytes = 0
    package var repeats = Repeats()

    package var databaseBytes = 0
    package var logBytes = 0
    package var freeBytes = 0
    /// nil: there is no commit log; the database itself is what lasts.
    package var commitLog: CommitLogStatus?
    /// nil: the gateway takes part in no cluster.
    package var fleet: FleetStatus?

    // Counted since the start.
    package var commits = Commits()
    package var checkpoints = 0
    package var failures = 0
    /// Damaged databases that were moved aside, logs that were saved from them, and lost logs.
    package var salvages = 0
    package var salvagedLogs = 0
    package var lostLogs = 0
    /// Damaged databases that are kept.
    package var damagedCopies = 0
    /// Bytes of the damaged databases that are never deleted.
    package var unsavedCopyBytes = 0
    /// Logs in kept damaged databases that are not copied yet.
    package var asideLogs = 0
    /// Damaged databases that were deleted.
    package var damagedCopiesRemoved = 0
    /// Logs by which a start had to correct ledgers.
    package var repairedLogs = 0
    /// How often a ledger disagreed with the queue while it ran.
    package var ledgerImbalances = 0
    /// Refused packets that were split, and refused packets that wait for it.
    package var isolations = 0
    package var isolationsWaiting = 0
    /// Packets that got another lane because SLS had seen their number.
    package var relanes = 0

    package init() {}

    /// The sum over all destinations.
    package var ledger: Ledger {
        destinations.values.reduce(Ledger()) { $0 + $1.ledger }
    }

    package var oldest: WallTime? {
        destinations.values.compactMap(\.oldest).min()
    }

    // The status of several shards as one.

    /// Adds what another shard has and did. Admission, bounds and the disk stay those of this one.
    package mutating func add(_ other: QueueStatus) {
        bytes += other.bytes
        rows += other.rows
        streams += other.streams
        packets += other.packets
        for (name, destination) in other.destinations {
            destinations[name, default: Destination()].add(destination)
        }
        intake += other.intake
        deadLetters = (deadLetters + other.deadLetters).joined
        waitingBytes += other.waitingBytes
        recentBytes += other.recentBytes
        repeats.known += other.repeats.known
        databaseBytes += other.databaseBytes
        logBytes += other.logBytes
        failures += other.failures
        lostLogs += other.lostLogs
        repairedLogs += other.repairedLogs
        ledgerImbalances += other.ledgerImbalances
        isolations += other.isolations
        isolationsWaiting += other.isolationsWaiting
        relanes += other.relanes
    }

    /// Only what was counted for good, without dead letters.
    package var ledgersWithoutDead: QueueStatus {
        var status = QueueStatus()
        for (name, destination) in destinations {
            var kept = Destination()
            kept.ledger = destination.ledger.withoutDead
            kept.volumes = destination.volumes
            status.destinations[name] = kept
        }
        status.intake = intake
        status.intake += IntakeTally(logs: -Int(ledger.dead))
        return status
    }
}

/// The replicated log behind the queue.
package struct CommitLogStatus: Sendable, Equatable {
    /// How many gateways, or lives of one, have owned the shard.
    package var epoch = 0
    /// The number of the last entry.
    package var entry = 0
    /// What it holds, about.
    package var bytes = 0
    /// A start reads at least as much.
    package var bytesSinceBase = 0
    /// Appends that had to be tried again, since the start.
    package var retries = 0

    package init() {}
}

/// Batches that were refused for the streams they would need, by the share that was used up.
package struct StreamRefusals: Sendable, Equatable {
    package var queue = 0
    package var destination = 0
    package var sender = 0

    package init() {}
}

/// Why a commit began, instead of waiting for more requests to share it.
package enum CommitReason: String, CounterKey {
    /// No commit was shortly before.
    case alone
    /// Nearly as many requests were there as the last commit answered.
    case returned
    /// The requests had enough bytes.
    case enoughBytes = "enough_bytes"
    /// The wait took as long as a commit.
    case waitTooLong = "wait_too_long"
    /// More waited than the transaction before could take.
    case moreWaits = "more_waits"
    /// The commit has no requests, but work of delivery, operators or the clock.
    case otherWork = "other_work"
}

extension QueueStatus.Destination {
    fileprivate mutating func add(_ other: QueueStatus.Destination) {
        ledger = ledger + other.ledger
        volumes += other.volumes
        oldest = [oldest, other.oldest].compactMap(\.self).min()
        packets += other.packets
        deadBytes += other.deadBytes
        refusedLogs += other.refusedLogs
        lastRefusal = lastRefusal ?? other.lastRefusal
        imbalance += other.imbalance
        bytes += other.bytes
        dropped += other.dropped
        for (name, outlet) in other.outlets {
            outlets[name, default: QueueStatus.Outlet()].add(outlet)
        }
    }
}

extension QueueStatus.Outlet {
    fileprivate mutating func add(_ other: QueueStatus.Outlet) {
        queued += other.queued
        packets += other.packets
        oldest = [oldest, other.oldest].compactMap(\.self).min()
        lanesInUse += other.lanesInUse
    }
}

extension [DeadLetterSum] {
    /// One sum for each destination and code, in the order in which they appear.
    package var joined: [DeadLetterSum] {
        var places: [String: [String: Int]] = [:]
        var sums: [DeadLetterSum] = []
        for sum in self {
            if let place = places[sum.destination]?[sum.code] {
                sums[place].letters += sum.letters
                sums[place].bytes += sum.bytes
                sums[place].latest = Swift.max(sums[place].latest, sum.latest)
            } else {
                places[sum.destination, default: [:]][sum.code] = sums.count
                sums.append(sum)
            }
        }
        return sums
    }
}
