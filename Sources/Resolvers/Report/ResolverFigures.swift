package import System

/// What came of a resolver's queries since the start.
package struct ResolverFigures: Sendable {
    package enum Outcome: String, CounterKey {
        /// With addresses.
        case answered
        /// The host has no addresses.
        case negative
        /// All addresses were of a network that the resolver may not lead to.
        case refused
        case server, account, clock, quota, query
    }

    package private(set) var counts = Counts<Outcome>()
    /// The last failure, if no answer came since.
    package private(set) var failure: QueryFailure?

    mutating func answered(_ outcome: Outcome) {
        counts[outcome] += 1
        failure = nil
    }

    mutating func failed(_ failure: QueryFailure) {
        self.failure = failure
        counts[Outcome(rawValue: failure.kind.rawValue) ?? .server] += 1
    }
}
