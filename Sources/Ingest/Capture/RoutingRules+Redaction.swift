import Routing

extension TagPlans {
    /// True: a filter redacts something of logs with this tag, or of the tag that a filter gives
    /// them.
    func redacts(_ tag: String) -> Bool {
        let filters = plan(for: tag).filters
        return filters.contains { router.rules.filters[$0.index].redacts }
            || router.rules.redacts && filters.contains { router.rules.filters[$0.index].retags }
    }
}

extension RoutingRules {
    var redacts: Bool { filters.contains(where: \.redacts) }
}

extension Filter {
    fileprivate var redacts: Bool {
        steps.contains { if case .redact = $0.action { true } else { false } }
    }

    fileprivate var retags: Bool {
        steps.contains { if case .tag = $0.action { true } else { false } }
    }
}
