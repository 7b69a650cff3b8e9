/// The resolvers to ask for a host's addresses, in order. Empty: the system alone.
package struct ResolverRules: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// For hosts without a rule.
    package var general: [String]
    /// By a host, or by `*.example.com` for all hosts below it.
    package var byHost: [String: [String]] = [:]

    package init(_ general: [String]) {
        self.general = general
    }

    package init(arrayLiteral general: String...) {
        self.general = general
    }

    package var isEmpty: Bool { general.isEmpty && byHost.isEmpty }

    /// `host` is in lower case. Its own rule beats a wildcard, a longer wildcard a shorter one.
    package func resolvers(of host: String) -> [String] {
        guard !byHost.isEmpty else { return general }
        if let own = byHost[host] { return own }
        var rest = host[...]
        while let dot = rest.firstIndex(of: ".") {
            if let found = byHost["*\(rest[dot...])"] { return found }
            rest = rest[rest.index(after: dot)...]
        }
        return general
    }
}
