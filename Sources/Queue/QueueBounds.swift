/// The bounds of the whole queue. They can change while the queue is open.
package struct QueueBounds: Sendable, Equatable {
    package var bytesMax: Int
    package var ageMax: Duration
    package var freeBytesMin: Int
    package var deadLetterAgeMax: Duration
    package var streamsMax: Int
    package var senders: Int

    package init(
        bytesMax: Int,
        ageMax: Duration,
        freeBytesMin: Int,
        deadLetterAgeMax: Duration,
        streamsMax: Int = 100_000,
        senders: Int = 1
    ) {
        self.bytesMax = bytesMax
        self.ageMax = ageMax
        self.freeBytesMin = freeBytesMin
        self.deadLetterAgeMax = deadLetterAgeMax
        self.streamsMax = streamsMax
        self.senders = senders
    }
}

/// The failures that a commit survives.
package enum Durability: String, Sendable, CaseIterable {
    /// Synced to the disk in each commit: survives a power cut.
    case full
    /// Survives a crash of the process, not of the machine.
    case normal
}
