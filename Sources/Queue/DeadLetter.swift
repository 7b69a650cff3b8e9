package import Logs
package import System

/// A log that could not be delivered as it is, with all that a person wants to see of it.
package struct DeadLetter: Sendable, Identifiable {
    /// Unique in the store; later deaths have higher ones.
    package let id: Int64
    /// Where it would have gone.
    package let stream: StreamKey
    /// When it was accepted.
    package let received: WallTime
    package let died: WallTime
    package let reason: DeathReason
    /// What it counts for in the bound of the queue.
    package let cost: Int
    /// The log, ready to be sent; nil when it changed on the disk. Such a one can only be purged or replaced.
    package let log: EncodedLogs?

    package init(
        id: Int64,
        stream: StreamKey,
        received: WallTime,
        died: WallTime,
        reason: DeathReason,
        cost: Int,
        log: EncodedLogs?
    ) {
        self.id = id
        self.stream = stream
        self.received = received
        self.died = died
        self.reason = reason
        self.cost = cost
        self.log = log
    }

    /// Time and fields; nil when the log changed on the disk, or was never one.
    package var content: LogEntry? {
        log?.bytes.withUnsafeBytes { try? LogEntry($0) }
    }
}

/// Some of the dead letters, and where the next ones begin.
package struct DeadLetterPage: Sendable {
    package let letters: [DeadLetter]
    /// What to ask for the next page; nil at the end.
    package let next: Int64?

    package init(letters: [DeadLetter], next: Int64?) {
        self.letters = letters
        self.next = next
    }
}

/// The dead letters of a destination that died of the same.
package struct DeadLetterSum: Sendable, Equatable {
    package let destination: String
    package let code: String
    package var letters: Int
    package var bytes: Int
    /// When the latest of them died, also if that one has left since.
    package var latest: WallTime

    package init(
        destination: String,
        code: String,
        letters: Int,
        bytes: Int,
        latest: WallTime
    ) {
        self.destination = destination
        self.code = code
        self.letters = letters
        self.bytes = bytes
        self.latest = latest
    }
}
