package import SLS
package import System

extension CredentialKeeper {
    /// Names of the credentials that are roles obtained with this credential.
    package func roles(askedForBy name: String) -> [String] {
        table.withLock { table in
            table.entries.filter { $0.value.source.caller == name }.map(\.key).sorted()
        }
    }

    /// Requests a role as if `credential` were already in use under the name. The result is discarded: it only shows
    /// that STS accepts the caller. The call waits for STS, so no other work may depend on its thread.
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
