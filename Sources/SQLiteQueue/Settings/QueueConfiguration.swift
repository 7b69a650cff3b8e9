package import Queue

/// How the queue keeps what it accepts.
package struct QueueConfiguration: Sendable {
    /// Where the database lives; created with its parents when missing, readable by its owner only.
    package var directory: String
    /// Queued bytes, compressed, from which new batches are refused.
    package var bytesMax: Int
    /// Logs that wait longer are dropped and counted as expired.
    package var ageMax: Duration
    package var durability: Durability
    /// Space that the queue leaves free on its file system.
    package var freeBytesMin: Int
    /// What holds for each destination; others get the defaults.
    package var destinations: [String: DestinationRules]
    /// Dead letters that are older are dropped and counted as expired.
    package var deadLetterAgeMax: Duration = .seconds(30 * 86_400)
    /// How long, and how many of them, requests are remembered by their identity.
    package var repeatsAgeMax: Duration = .seconds(86_400)
    package var repeatsMax = 200_000
    /// Different streams that may wait at a time, and how many device keys share them.
    package var streamsMax = 100_000
    package var senders = 1
    package var tuning = QueueTuning()

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

    /// What holds for the destination.
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
