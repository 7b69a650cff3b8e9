package import Logs

/// What became of a replay or a purge. What was done is durable, also when it ended early.
package struct DeadLetterChange: Sendable, Equatable {
    package enum End: Sendable, Equatable {
        case complete
        /// The rest did not find room, or the store could not be written: they are dead letters still.
        case refused(QueueAdmission)
        /// Too many changes wait already; nothing was done.
        case busy
        /// More ids than `DeadLetterSelection.idsMax`; nothing was done.
        case tooManyIDs
    }

    /// Dead letters that were replayed or purged.
    package var changed = 0
    /// Those that cannot be replayed, because they changed on the disk: they are dead letters still.
    package var unreadable = 0
    /// By how much that moved the ledgers, by destination.
    package var effects: [String: Ledger] = [:]
    package var end = End.complete

    package init() {}
}

/// What is to be different about a dead letter. What is nil stays as it is.
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

package enum DeadLetterEditOutcome: Sendable {
    /// As it is now.
    case replaced(DeadLetter)
    case notFound
    /// It changed on the disk, so only an edit that brings both time and fields can replace it.
    case unreadable
    /// It would be larger than one request to SLS can be.
    case tooLarge(bytesMax: Int)
    /// Its destination delivers to this logstore alone.
    case otherLogstore(String)
    case refused(QueueAdmission)
    /// Too many changes wait already.
    case busy
}
