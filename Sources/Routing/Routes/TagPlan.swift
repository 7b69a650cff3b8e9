/// What logs of one tag go through.
package final class TagPlan: Sendable {
    package enum Outcome: Sendable, Equatable {
        case routed
        /// All routes that match have no destinations.
        case dropped
        /// No route matches; `RoutingRules.unrouted` decides.
        case unrouted
        /// The configuration has no routes; the request's address decides.
        case addressed
    }

    package let tag: String
    /// Filters that match, in order, and what the last wildcard of the first matching pattern took.
    package let filters: [(index: Int, captured: String?)]
    /// Routes that match, up to the first with `last`.
    package let routes: [Int]
    /// Each once, in the order of the routes.
    package let destinations: [String]
    package let outcome: Outcome
    private let conditions: [Bool]

    init(
        tag: String,
        filters: [(index: Int, captured: String?)],
        conditions: [Bool],
        routes: [Int],
        destinations: [String],
        outcome: Outcome
    ) {
        self.tag = tag
        self.filters = filters
        self.conditions = conditions
        self.routes = routes
        self.destinations = destinations
        self.outcome = outcome
    }

    /// `condition` is a number from `Router.condition`.
    package func holds(_ condition: Int) -> Bool { conditions[condition] }
}

/// A thread's cache of plans. Devices invent tags, so it has a bound: a plan replaces the one in
/// its slot.
package final class TagPlans {
    /// A power of two.
    package static let plansMax = 1024
    /// A longer tag is planned each time, which bounds the cache's memory.
    package static let tagBytesMax = 512

    package let router: Router
    private var slots: [TagPlan?]

    package init(_ router: Router) {
        self.router = router
        slots = Array(repeating: nil, count: Self.plansMax)
    }

    package var count: Int { slots.count { $0 != nil } }

    package func plan(for tag: String) -> TagPlan {
        var tag = tag
        return tag.withUTF8 { plan(for: $0) }
    }

    package func plan(for tag: UnsafeBufferPointer<UInt8>) -> TagPlan {
        guard tag.count <= Self.tagBytesMax else { return router.plan(for: tag) }
        // The process's random seed is in the hash, so a sender cannot choose tags that share a
        // slot.
        var hasher = Hasher()
        hasher.combine(bytes: UnsafeRawBufferPointer(tag))
        let slot = hasher.finalize() & (Self.plansMax - 1)
        if let plan = slots[slot], plan.isFor(tag) { return plan }
        let plan = router.plan(for: tag)
        slots[slot] = plan
        return plan
    }
}

extension TagPlan {
    fileprivate func isFor(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        tag.utf8.count == bytes.count && tag.utf8.elementsEqual(bytes)
    }
}
