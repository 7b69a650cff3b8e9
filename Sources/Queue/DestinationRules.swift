/// The queue's rules for one destination.
package struct DestinationRules: Sendable, Equatable {
    /// The treatment of a batch when the destination is at its bound.
    package enum Overflow: String, Sendable, CaseIterable {
        /// The gateway refuses the batch, so the device keeps it and tries again.
        case reject
        /// The oldest waiting logs make room and count as expired.
        case dropOldest = "drop_oldest"
    }

    package var packet = PacketLimits()
    /// The logstore that all logs go to. Nil leaves each log in its own.
    package var logstore: String?
    /// The bound of queued bytes, dead letters included. Nil leaves only the queue's own bound.
    package var bytesMax: Int?
    /// Logs that wait longer are dropped and count as expired. Nil: the queue's own maximum age.
    package var ageMax: Duration?
    package var overflow = Overflow.reject
    /// The percentage of packets with fresh logs while a backlog is delivered, 0 to 90. With 0 the
    /// oldest logs always go first.
    package var freshPercent = 0
    /// The number of lanes of each logstore for delivery exactly once. 0 stands for no lanes.
    package var lanes = 0
    /// The treatment of logs that grew too old for SLS while they waited.
    package var lateLogs = LatePolicy.rewrite
    /// The greatest number of logstores that have logs in the queue at a time.
    package var logstoresMax = 100

    package init(packet: PacketLimits = PacketLimits()) {
        self.packet = packet
    }
}

/// The treatment of a log whose time SLS would refuse.
package enum LatePolicy: String, Sendable, CaseIterable {
    /// The log gets the present as its time and keeps its own in the field `__original_time__`.
    case rewrite
    /// The log counts as discarded.
    case drop
    case deadLetter = "dead_letter"
}

/// The limits by which a destination's logs become packets.
package struct PacketLimits: Sendable, Equatable {
    package var rawBytes = 1 << 20
    package var logs = 4096
    package var age: Duration = .seconds(1)

    package init() {}

    package init(
        rawBytes: Int = PacketLimits().rawBytes,
        logs: Int = PacketLimits().logs,
        age: Duration = PacketLimits().age
    ) {
        self.rawBytes = rawBytes
        self.logs = logs
        self.age = age
    }
}

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
