import System

/// Which server of a URL with several hosts the connections of a gateway try first.
///
/// After a promotion the old primary may live on, and take connections: commits wait for its
/// standby for ever, and registers, which wait for none, would be seen by nobody else. So all
/// connections leave it together.
final class ServerChoice: Sendable {
    /// A host of the URL, as libpq names it.
    struct Server: Equatable, Sendable {
        let host: String
        let address: String
        let port: String

        var name: String { host.isEmpty ? address : host }
    }

    private struct State {
        /// In the order in which they are tried; empty: as the URL has them.
        var order: [Server] = []
        var generation = 0
    }

    private static let patience = Duration.seconds(5)
    private let state = Locked(State())

    /// Changes when connections must be made again.
    var generation: Int { state.withLock(\.generation) }

    var order: [Server] { state.withLock(\.order) }

    /// Chooses another server than `current` if there is one that takes commits. Blocks.
    func leave(_ current: Server, _ settings: PostgreSQLSettings, _ journal: Journal) {
        let all = settings.target?.hosts ?? []
        let others = all.filter { $0 != current }
        guard others.count < all.count, !others.isEmpty,
            let attempt = try? ConnectionAttempt(settings, to: others),
            case .connected(let connection)? = attempt.wait(atMost: Self.patience),
            let found = PostgreSQLSession(taking: connection).server(among: others),
            let place = others.firstIndex(of: found)
        else { return }
        state.withLock { state in
            state.order = Array(others[place...] + others[..<place]) + [current]
            state.generation += 1
        }
        journal.warning(
            "another server takes commits; all connections change",
            ["server": PostgreSQLTarget.shown(found), "former": PostgreSQLTarget.shown(current)]
        )
    }
}

extension [ServerChoice.Server] {
    /// The words of a connection that tries these servers, one after the other.
    var words: [(String, String)] {
        guard !isEmpty else { return [] }
        func list(_ part: KeyPath<ServerChoice.Server, String>) -> String {
            map { $0[keyPath: part] }.joined(separator: ",")
        }
        let addresses = contains { !$0.address.isEmpty } ? [("hostaddr", list(\.address))] : []
        return [("host", list(\.host)), ("port", list(\.port))] + addresses
    }
}
