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
