/// The resolvers to ask for a host's addresses, in order. Empty: the system alone.
package struct ResolverRules: Sendable, Hashable, ExpressibleByArrayLiteral {
    /// For hosts without a rule.
    package var usual: [String]
    /// By a host, or by `*.example.com` for all hosts below it.
    package var rules: [String: [String]] = [:]

    package init(_ usual: [String]) {
        self.usual = usual
    }

    package init(arrayLiteral usual: String...) {
        self.usual = usual
    }

    package var isEmpty: Bool { usual.isEmpty && rules.isEmpty }

    /// `host` is in lower case. Its own rule beats a wildcard, and a longer wildcard beats a shorter one.
    package func resolvers(of host: String) -> [String] {
        guard !rules.isEmpty else { return usual }
        if let own = rules[host] { return own }
        var rest = host[...]
        while let dot = rest.firstIndex(of: ".") {
            if let found = rules["*\(rest[dot...])"] { return found }
            rest = rest[rest.index(after: dot)...]
        }
        return usual
    }
}
