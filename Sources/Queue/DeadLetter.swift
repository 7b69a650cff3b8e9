package import Logs
package import System

/// A log that could not be delivered unchanged, with everything that a person needs to know about
/// it.
package struct DeadLetter: Sendable, Identifiable {
    /// Unique in the store. Later dead letters have higher ids.
    package let id: Int64
    /// The stream that the log belongs to.
    package let stream: StreamKey
    /// The time at which the log entered the queue: when the gateway accepted it, or when it was
    /// last replayed.
    package let received: WallTime
    package let died: WallTime
    package let reason: DeathReason
    /// How often the log was replayed before it died of this reason.
    package let replays: Int
    /// Its weight in the bound of the queue.
    package let cost: Int
    /// The log, ready to be sent. Nil if it changed on the disk; such a letter can only be purged
    /// or replaced.
    package let log: EncodedLogs?

    package init(
        id: Int64,
        stream: StreamKey,
        received: WallTime,
        died: WallTime,
        reason: DeathReason,
        replays: Int,
        cost: Int,
        log: EncodedLogs?
    ) {
        self.id = id
        self.stream = stream
        self.received = received
        self.died = died
        self.reason = reason
        self.replays = replays
        self.cost = cost
        self.log = log
    }

    /// The time of the last replay. Nil if there was none.
    package var lastReplay: WallTime? { replays > 0 ? received : nil }

    /// The bytes of the log.
    package var bytes: Int { log?.bytes.count ?? 0 }

    /// Time and fields. Nil if the log changed on the disk, or if the letter holds text that is not
    /// a log.
    package var content: LogEntry? {
        log?.bytes.withUnsafeBytes { try? LogEntry($0) }
    }
}

/// Some of the dead letters, and where the next ones begin.
package struct DeadLetterPage: Sendable {
    package let letters: [DeadLetter]
    /// The `id` to ask for the next page. Nil at the end.
    package let next: Int64?

    package init(letters: [DeadLetter], next: Int64?) {
        self.letters = letters
        self.next = next
    }
}

/// The dead letters of a destination with the same code.
package struct DeadLetterSum: Sendable, Equatable {
    package let destination: String
    package let code: String
    package var letters: Int
    package var bytes: Int
    /// The time of the latest death, even if that letter has left since.
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
