/// What the queue as a whole may hold. It can change while the queue is open.
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
