/// The logs that cannot be delivered as they are: what the admin API sees of the queue.
///
/// They are read through a connection of their own, on the caller's thread, as of the last commit. Changes
/// are made by the queue's own thread in steps of a bounded size, between which logs are accepted and
/// delivered; they call back on that thread after the last commit, and the callback must be quick and must
/// not wait.
package protocol DeadLetters: Sendable {
    /// In the order in which they died, those behind `id`: at most `limit` and 1,000, and fewer where they
    /// are large, or so rare that many others had to be looked at; even none. Going on with `next` until it is nil
    /// reads all, for an export.
    func deadLetters(
        matching filter: DeadLetterFilter,
        after id: Int64,
        limit: Int
    ) throws(QueueError) -> DeadLetterPage

    func deadLetter(_ id: Int64) throws(QueueError) -> DeadLetter?

    /// By destination and code, as of the last commit. Touches no disk.
    var deadLetterSums: [DeadLetterSum] { get }

    /// Lets them wait for delivery again, in new packets, to the logstore and with the topic, source and tags
    /// that they have now. Their age starts again.
    func replay(
        _ selection: DeadLetterSelection,
        whenDone: @escaping @Sendable (DeadLetterChange) -> Void
    )

    /// Removes them for good and counts them as discarded.
    func purge(
        _ selection: DeadLetterSelection,
        whenDone: @escaping @Sendable (DeadLetterChange) -> Void
    )

    /// Changes one, so that a replay may succeed. It keeps its id and the reason that it died of.
    func replace(
        _ id: Int64,
        with edit: DeadLetterEdit,
        whenDone: @escaping @Sendable (DeadLetterEditOutcome) -> Void
    )
}

/// Which dead letters: all that have what is set.
package struct DeadLetterFilter: Sendable, Equatable {
    package var destination: String?
    package var logstore: String?
    /// Why they died, as `DeathReason.code`.
    package var code: String?

    package init(destination: String? = nil, logstore: String? = nil, code: String? = nil) {
        self.destination = destination
        self.logstore = logstore
        self.code = code
    }
}

/// The dead letters that a change is for.
package enum DeadLetterSelection: Sendable, Equatable {
    /// How many can be named in one call.
    package static let idsMax = 10_000

    /// Those of them that exist.
    case ids([Int64])
    /// Those that had died before the change began.
    case matching(DeadLetterFilter)
}
