/// What the queue does for one destination, besides keeping its logs.
package struct DestinationRules: Sendable, Equatable {
    /// What happens to a batch that finds the destination at its bound.
    package enum Overflow: String, Sendable, CaseIterable {
        /// The device keeps it and tries again.
        case reject
        /// The oldest logs that wait make room, and are counted as expired.
        case dropOldest = "drop_oldest"
    }

    package var packet = PacketLimits()
    /// Where all its logs go, whatever logstore they came for; nil leaves each where it came for.
    package var logstore: String?
    /// Queued bytes of this destination, dead letters included; nil has no bound but the queue's own.
    package var bytesMax: Int?
    /// Logs that wait longer are dropped and counted as expired; nil is the queue's own age.
    package var ageMax: Duration?
    package var overflow = Overflow.reject
    /// The percentage of an outlet's packets that come from fresh logs while a backlog is delivered, 0 to 90; 0 is strictly
    /// the oldest first.
    package var freshPercent = 0
    /// Lanes of each logstore for delivery exactly once; 0 has none.
    package var lanes = 0
    /// What happens to logs that grew too old for SLS while they waited.
    package var lateLogs = LatePolicy.rewrite
    /// Logstores that may have logs in the queue at a time.
    package var logstoresMax = 100

    package init(packet: PacketLimits = PacketLimits()) {
        self.packet = packet
    }
}

/// What happens to a log whose time SLS would refuse.
package enum LatePolicy: String, Sendable, CaseIterable {
    /// It gets the present as its time, and keeps its own as the field `__original_time__`.
    case rewrite
    /// It is counted as discarded.
    case drop
    case deadLetter = "dead_letter"
}

/// How a destination's logs are cut into packets.
package struct PacketLimits: Sendable, Equatable {
    package var rawBytes = 1 << 20
    package var logs = 4096
    package var age: Duration = .seconds(1)

    package init(rawBytes: Int = 1 << 20, logs: Int = 4096, age: Duration = .seconds(1)) {
        self.rawBytes = rawBytes
        self.logs = logs
        self.age = age
    }
}
