package import Crypto

/// Filters and routes as the configuration has them.
package struct RoutingRules: Sendable, Equatable {
    package var filters: [Filter] = []
    /// Nil: the configuration has no routes, and each request goes where its address says.
    package var routes: [Route]?
    package var unrouted = Unrouted.defaultDestination
    /// The key of `redact … with: hash`.
    package var secret: Secret?

    /// Header fields that conditions may ask, in lower case.
    package var headers: [String] = []

    package init() {}

    package var isEmpty: Bool { filters.isEmpty && routes == nil }
}
