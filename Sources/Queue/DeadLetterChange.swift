package import Logs

/// The result of a replay or a purge. Everything that it counts is durable, even if the change
/// ended early.
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
    /// The number of dead letters that cannot be replayed, because they changed on the disk. They
    /// stay dead letters.
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

package enum DeadLetterEditOutcome: Sendable {
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
