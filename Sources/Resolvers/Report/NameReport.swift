package import Net
package import System

/// What the resolvers' thread knows, for reports.
package struct NameReport: Sendable {
    package struct ResolverStatus: Sendable {
        package let name: String
        package let kind: String
        package let servers: [String]
        package let restingServers: Int
        package let figures: ResolverFigures
        package let latency: LatencyHistogram
        /// It is not asked for so long.
        package let closedFor: Duration?
    }

    package struct HostStatus: Sendable {
        package let host: String
        package let resolvers: [String]
        /// Whose answer is used; nil if there is none.
        package let resolver: String?
        package let isStale: Bool
        /// Until the answer's time is over; negative afterwards.
        package let remaining: Duration?
        package let addresses: [AddressStatus]
        /// How often senders looked at its addresses.
        package let uses: Counts<AddressUse>
    }

    package struct AddressStatus: Sendable {
        package let address: IPAddress
        package let connectTime: Duration?
        /// It failed a moment ago and is tried last.
        package let rests: Bool
    }

    package var resolvers: [ResolverStatus] = []
    package var hosts: [HostStatus] = []
    /// Hosts that found no place in the cache.
    package var refusedHosts = 0
}

/// What a sender found that looked at a host's addresses: addresses in their time, old ones, or
/// none.
package enum AddressUse: Int, CounterKey {
    case fresh, stale, none
}

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
