package import SLS
package import System

extension CredentialKeeper {
    /// Names of the credentials that are roles asked for with the one of this name.
    package func roles(askedForBy name: String) -> [String] {
        table.withLock { table in
            table.entries.filter { $0.value.source.caller == name }.map(\.key).sorted()
        }
    }

    /// Asks for a role as if `credential` were the one of the name already. What comes is thrown away: it only
    /// shows whether STS takes the caller. It waits for STS, so it is not for a thread that others wait for.
    package func prove(
        _ credential: Credential,
        as name: String,
        for role: String,
        _ interruption: Interruption
    ) throws(SourceProblem) {
        guard let source = table.withLock({ $0.entries[role]?.source }) else { return }
        let visit = SourceVisit(surroundings, interruption: interruption) { [self] other in
            other == name ? credential : self.credential(named: other)
        }
        _ = try visit.fetch(source)
    }
}
