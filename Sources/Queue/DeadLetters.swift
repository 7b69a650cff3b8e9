package import Logs
package import System

/// The logs that cannot be delivered unchanged, as the admin API sees them.
///
/// Reads use a separate connection, on the caller's thread, and see the last commit. The queue's
/// thread makes changes in steps of a bounded size. Between the steps it accepts and delivers logs.
/// It calls back on its thread after the last commit; the callback must be quick and must not wait.
package protocol DeadLetters: Sendable {
    /// Returns the letters of a shard behind `id` in the order in which they died, at most `limit`
    /// and 1,000. A page has fewer letters, even none, if they are large or if many others had to
    /// be looked at. To read all for an export, ask with `next` until it is nil.
    func deadLetters(
        matching filter: DeadLetterFilter,
        after id: Int64,
        limit: Int
    ) throws(QueueError) -> DeadLetterPage

    func deadLetter(_ id: Int64) throws(QueueError) -> DeadLetter?

    /// The shards whose letters these are; empty: the gateway takes part in no cluster.
    var letterShards: [String] { get }

    /// The name of a letter by its id, which is good in this process only.
    func letterName(_ id: Int64) -> LetterName

    /// The id of a letter; nil: no shard of this gateway has it. Number 0 is before the first one.
    func letterID(_ name: LetterName) -> Int64?

    /// The sums by destination and code at the last commit. Touches no disk.
    var deadLetterSums: [DeadLetterSum] { get }

    /// Replays or purges the letters.
    func change(
        _ work: DeadLetterWork,
        _ selection: DeadLetterSelection,
        whenDone: @escaping @Sendable (DeadLetterChange) -> Void
    )

    /// Changes a letter, so that a replay may succeed. The letter keeps its id and its reason.
    func replace(
        _ id: Int64,
        with edit: DeadLetterEdit,
        whenDone: @escaping @Sendable (DeadLetterEditOutcome) -> Void
    )
}

/// A filter for dead letters. A letter matches if it equals every value that is set.
package struct DeadLetterFilter: Sendable, Equatable {
    package var destination: String?
    package var logstore: String?
    /// The `DeathReason.code`.
    package var code: String?

    package init(destination: String? = nil, logstore: String? = nil, code: String? = nil) {
        self.destination = destination
        self.logstore = logstore
        self.code = code
    }
}

package enum DeadLetterWork: String, Sendable {
    /// Lets the letters wait for delivery again, in new packets, with their present logstore,
    /// topic, source and tags. Their age starts again.
    case replay
    /// Removes the letters for good and counts them as discarded.
    case purge
}

/// The dead letters that a change is for.
package enum DeadLetterSelection: Sendable, Equatable {
    /// The greatest number of ids in one call.
    package static let idsMax = 10_000

    /// The letters with these ids that exist.
    case ids([Int64])
    /// The matching letters that died before the change began.
    case matching(DeadLetterFilter)
}

/// A log that could not be delivered unchanged, with all that a person needs to know about it.
package struct DeadLetter: Sendable, Equatable, Identifiable {
    /// Unique in the store. Later dead letters have higher ids.
    package let id: Int64
    /// The stream that the log belongs to.
    package let stream: StreamKey
    /// When the log entered the queue: accepted by the gateway, or last replayed.
    package let received: WallTime
    package let died: WallTime
    package let reason: DeathReason
    /// How often the log was replayed before it died of this reason.
    package let replays: Int
    /// Its weight in the bound of the queue.
    package let cost: Int
    /// The log, ready to be sent. Nil if it changed on the disk: it can only be purged or replaced.
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

    /// Nil if the log changed on the disk, or is a text that is not a log.
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

/// The reason why a log can never be delivered unchanged.
package struct DeathReason: Sendable, Equatable {
    /// SLS's code, or `LogTimeInvalid`, `ValueTooLarge`, `LogUnreadable`, `PacketUnsendable`.
    package let code: String
    package let message: String
    /// SLS's request id, if SLS refused the log.
    package let requestID: String?
    /// The answer's HTTP status, if there was an answer.
    package let status: Int?
    /// SLS's time at the refusal, by which it judges the times of logs. Dead letters do not keep
    /// it.
    package let serverTime: WallTime?

    package init(
        code: String,
        message: String,
        requestID: String? = nil,
        status: Int? = nil,
        serverTime: WallTime? = nil
    ) {
        self.code = code
        self.message = message
        self.requestID = requestID
        self.status = status
        self.serverTime = serverTime
    }

    /// True if SLS may have refused the log for its time. Every other code has another cause.
    package var mayBeTime: Bool { code == "PostBodyInvalid" || code == "InvalidTimestamp" }
}

/// The result of a replay or a purge. All that it counts is durable, even if it ended early.
package struct DeadLetterChange: Sendable, Equatable {
    package enum End: Sendable, Equatable {
        case complete
        /// The rest found no room, or the store could not be written. The rest stay dead letters.
        case refused(QueueAdmission)
        /// Too many changes wait already. Nothing was done.
        case busy
        /// The selection has more ids than `DeadLetterSelection.idsMax`. Nothing was done.
        case tooManyIDs
    }

    /// The number of dead letters that were replayed or purged.
    package var changed = 0
    /// Dead letters that changed on the disk and cannot be replayed. They stay dead letters.
    package var unreadable = 0
    /// The change of the ledgers, by destination.
    package var effects: [String: Ledger] = [:]
    package var end = End.complete

    package init() {}
}

/// The new values for a dead letter. A nil value stays unchanged.
package struct DeadLetterEdit: Sendable {
    package var logstore: String?
    /// Topic, source and tags.
    package var trailer: GroupTrailer?
    package var time: LogTime?
    package var fields: [(key: String, value: String)]?

    package init(
        logstore: String? = nil,
        trailer: GroupTrailer? = nil,
        time: LogTime? = nil,
        fields: [(key: String, value: String)]? = nil
    ) {
        self.logstore = logstore
        self.trailer = trailer
        self.time = time
        self.fields = fields
    }
}

package enum DeadLetterEditOutcome: Sendable, Equatable {
    /// The letter after the edit.
    case replaced(DeadLetter)
    case notFound
    /// The letter changed on the disk, so only an edit with both time and fields can replace it.
    case unreadable
    /// The letter would be larger than one request to SLS can be.
    case tooLarge(bytesMax: Int)
    /// The destination delivers only to this logstore.
    case otherLogstore(String)
    case refused(QueueAdmission)
    /// Too many changes wait already.
    case busy
}

/// The name of a dead letter for operators: its number, in a cluster behind its shard's name. It
/// stays the same whichever gateway has the shard.
package struct LetterName: Hashable, Sendable, CustomStringConvertible {
    /// nil: the gateway takes part in no cluster.
    package let shard: String?
    package let number: Int64

    package init(shard: String?, number: Int64) {
        self.shard = shard
        self.number = number
    }

    /// "17", or "gw-1~0a1b2c3d-17". nil: it is none.
    package init?(_ text: some StringProtocol) {
        let end = text.lastIndex(of: "-")
        let digits = String(end.map { text[text.index(after: $0)...] } ?? text[...])
        guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits),
            end != text.startIndex
        else { return nil }
        self.init(shard: end.map { String(text[..<$0]) }, number: number)
    }

    package var description: String { (shard.map { "\($0)-" } ?? "") + "\(number)" }
}

extension DeadLetters {
    package var letterShards: [String] { [] }

    package func letterName(_ id: Int64) -> LetterName { LetterName(shard: nil, number: id) }

    package func letterID(_ name: LetterName) -> Int64? { name.shard == nil ? name.number : nil }
}
