package import CommitLog
package import Queue

/// The settings by which the queue keeps logs.
package struct QueueConfiguration: Sendable {
    /// The directory of the database. Created with its parents if missing, readable only by its
    /// owner.
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
    /// The number of different streams that may wait at a time, and the number of device keys that
    /// share them.
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
    /// Called once, on the queue's thread, when another gateway has taken the shard. The queue is
    /// of no use then but to be closed. Must be quick.
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

    /// The rules of the destination.
    func rules(_ destination: String) -> DestinationRules {
        destinations[destination] ?? DestinationRules()
    }
}

extension QueueConfiguration {
    mutating func apply(_ bounds: QueueBounds) {
        bytesMax = bounds.bytesMax
        ageMax = bounds.ageMax
        freeBytesMin = bounds.freeBytesMin
        deadLetterAgeMax = bounds.deadLetterAgeMax
        streamsMax = bounds.streamsMax
        senders = bounds.senders
    }
}
