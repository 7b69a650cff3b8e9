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
