package import CommitLog
package import Queue

package struct QueueConfiguration: Sendable {
    /// The directory of the database, made if it is missing, and readable only by its owner.
    package var directory: String
    /// The bound of queued bytes, compressed. At the bound the queue refuses new batches.
    package var bytesMax: Int
    /// Logs that wait longer are dropped and count as expired.
    package var ageMax: Duration
    package var durability: Durability
    /// Space that the queue leaves free on its file system.
    package var freeBytesMin: Int
    /// The rules of each destination. Others get the defaults.
    package var destinations: [String: DestinationRules]
    /// Dead letters that are older are dropped and count as expired.
    package var deadLetterAgeMax: Duration = .seconds(30 * 86_400)
    /// How long the queue remembers a request by its identity, and how many requests.
    package var repeatsAgeMax: Duration = .seconds(86_400)
    package var repeatsMax = 200_000
    /// How many streams may wait, and how many device keys share them.
    package var streamsMax = 100_000
    package var senders = 1
    package var tuning = QueueTuning()
    /// What its packets and streams say where they come from.
    package var shard = Shard.home
    /// What lasts instead of the database, which then is only a copy. nil: the database lasts.
    package var commitLog: (any CommitLog)?
    package var commitRetries = CommitWriter.RetryPolicy()
    /// What the commit log may hold; nil: it has no bound. The queue refuses batches before.
    package var commitLogBytesMax: Int?
    /// What reading the commit log must leave free on the file system.
    package var restoreFreeBytesMin = 0
    /// Called once, on the queue's thread, when another gateway has taken the shard: this queue can
    /// only be closed then. Must be quick.
    package var whenLost: @Sendable () -> Void = {}

    package init(
        directory: String,
        bytesMax: Int = 4 << 30,
        ageMax: Duration = .seconds(7 * 86_400),
        durability: Durability = .full,
        freeBytesMin: Int = 256 << 20,
        destinations: [String: DestinationRules] = [:]
    ) {
        self.directory = directory
        self.bytesMax = bytesMax
        self.ageMax = ageMax
        self.durability = durability
        self.freeBytesMin = freeBytesMin
        self.destinations = destinations
    }

    var dataDirectory: DataDirectory {
        DataDirectory(path: directory, isScratch: commitLog != nil)
    }

    func rules(_ destination: String) -> DestinationRules {
        destinations[destination] ?? DestinationRules()
    }

    mutating func apply(_ bounds: QueueBounds) {
        bytesMax = bounds.bytesMax
        ageMax = bounds.ageMax
        freeBytesMin = bounds.freeBytesMin
        deadLetterAgeMax = bounds.deadLetterAgeMax
        streamsMax = bounds.streamsMax
        senders = bounds.senders
    }
}

/// Measured at 400,000 logs of 150 bytes a second on two cores unless stated otherwise. Operators
/// cannot set them. Tests make them small.
package struct QueueTuning: Sendable {
    /// Larger pages cost a little less processor time (4 KiB 0.68 s, 8 KiB 0.64 s, 16 KiB 0.63 s
    /// per million logs), but each small commit writes more: 12, 24, 48 KiB.
    package var pageBytes = 8192
    /// SQLite's page cache for the owner.
    package var cacheBytes = 8 << 20
    /// Raw bytes that batches of one stream share in a row. lz4 gains nothing from more.
    package var rowBytes = 64 << 10
    /// Raw bytes of one transaction, so that callers wait a bounded time for it.
    package var transactionBytes = 8 << 20
    /// Raw bytes that may wait for a commit.
    package var waitingBytesMax = 64 << 20
    /// Compressed payloads kept in memory for delivery.
    package var recentBytesMax = 32 << 20
    /// Log size at which it is moved into the database while more than this waits for delivery. In
    /// an outage every page is new, and a client may wait for a checkpoint of all of them: ack p99
    /// is 6 ms at 4 MiB, 13 ms at 16, 23 at 32.
    package var checkpointBytes = 4 << 20
    /// The same while less waits, with full durability. Packets leave before their pages are moved,
    /// and the next batches take the pages: the disk writes 8 to 19 % less at 16 MiB than at 4.
    package var longLogBytes: Int { 4 * checkpointBytes }
    /// A commit may wait for more requests until this long after the one before it, unless
    /// `lingerBytes` wait. Without a wait, 2,700 commits a second took 1.57 s of processor time per
    /// million logs; with 330, it was 0.79 s. `CommitLinger` decides when a wait ends earlier.
    package var linger: Duration = .milliseconds(2)
    package var lingerBytes = 1 << 20
    /// The interval at which the owner checks free space, age and idle streams.
    package var housekeeping: Duration = .seconds(1)
    /// Free pages that the database keeps for the next burst.
    package var spareBytes = 32 << 20
    /// Free pages given back in one step.
    package var givenBackBytes = 4 << 20
    /// Empty streams that keep their pack id prefix, in case more of their logs arrive.
    package var idleStreams = 4096
    /// The cost of all idle streams. Most have a few hundred bytes of tags, some tens of KiB.
    package var idleStreamBytes = 4 << 20
    /// First pause after a failed write. Doubles up to `retryMax`.
    package var retryMin: Duration = .milliseconds(250)
    package var retryMax: Duration = .seconds(5)
    /// The pause before the owner tries again to open or read a damaged database.
    package var asideRetry: Duration = .seconds(60)
    /// A commit log gets another base when commits since the last one exceed this and the database.
    package var baseLogBytes = 256 << 20
    /// A bound for the directory's files, as if the disk had no more space. Nil is the real disk.
    package var diskBytes: Int?

    package init() {}
}
