import System

/// A host of a URL, as libpq names it.
struct PostgreSQLServer: Equatable, Sendable {
    let host: String
    let address: String
    let port: String

    var name: String { host.isEmpty ? address : host }
}

/// Which server of a URL with several hosts the connections of a gateway try first.
///
/// After a promotion the old primary may live on and take connections. A commit there waits for a
/// standby that never answers. A register there succeeds, but no other gateway reads it. So all
/// connections leave that server together, and none returns to it.
final class ServerChoice: Sendable {
    private struct State {
        /// In the order in which they are tried; empty: as the URL has them.
        var order: [PostgreSQLServer] = []
        var generation = 0
        /// The highest that was seen. Each promotion begins one.
        var timeline = 0
    }

    private static let patience = Duration.seconds(5)
    private let settings: PostgreSQLSettings
    /// All that the URL names.
    let servers: [PostgreSQLServer]
    private let journal: Journal
    private let state: Locked<State>
    /// A connection to another server than the present one, which is made over several calls.
    private let trial = Locked<Trial?>(nil)

    private struct Trial: ~Copyable {
        let former: PostgreSQLServer
        let choice: ServerChoice
        var link: PostgreSQLLink
    }

    init(_ settings: PostgreSQLSettings, _ journal: Journal) {
        self.settings = settings
        servers = settings.target?.hosts ?? []
        self.journal = journal
        state = Locked(State())
    }

    /// For a trial of other servers than this choice has.
    private init(_ other: ServerChoice, order: [PostgreSQLServer]) {
        settings = other.settings
        servers = other.servers
        journal = other.journal
        state = Locked(State(order: order, timeline: other.state.withLock(\.timeline)))
    }

    /// Changes when connections must be made again.
    var generation: Int { state.withLock(\.generation) }

    var order: [PostgreSQLServer] { state.withLock(\.order) }

    /// Notes the timeline of a server. False if the server is a former primary, which no connection
    /// must use. If the server was just promoted, all connections try it first from then on.
    func take(timeline: Int, on server: PostgreSQLServer?) -> Bool {
        state.withLock { state in
            guard timeline >= state.timeline else { return false }
            if timeline > state.timeline {
                if state.timeline > 0 { state.generation += 1 }
                state.timeline = timeline
                if let server { state.order = [server] + servers.filter { $0 != server } }
            }
            return true
        }
    }

    /// Chooses another server than `former` if there is one that confirms a commit. Blocks.
    func chooseAnother(than former: PostgreSQLServer, isSynced: Bool) {
        let others = servers.filter { $0 != former }
        guard others.count < servers.count, !others.isEmpty else { return }
        let found: PostgreSQLServer? = trial.withLock { trial in
            if trial?.former != former {
                let choice = ServerChoice(self, order: others)
                let link = PostgreSQLLink(settings, isSynced: isSynced, choice, journal)
                trial = Trial(former: former, choice: choice, link: link)
            }
            do throws(CommitLogError) {
                try trial?.link.confirm(until: .now + Self.patience)
                defer { trial = nil }
                let timeline = trial?.choice.state.withLock(\.timeline) ?? 0
                guard timeline >= state.withLock(\.timeline) else { return nil }
                return trial?.link.server
            } catch {
                // Otherwise a server that waits for a standby keeps it.
                trial?.link.cancel()
                return nil
            }
        }
        guard let found, let place = others.firstIndex(of: found) else { return }
        state.withLock { state in
            state.order = Array(others[place...] + others[..<place]) + [former]
            state.generation += 1
        }
        journal.warning(
            "another server takes commits; all connections change",
            ["server": found.description, "former": former.description]
        )
    }
}

extension PostgreSQLServer: CustomStringConvertible {
    var description: String {
        if name.isEmpty { return "the usual socket" }
        if Self.isSocket(name) { return name }
        return name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)"
    }

    /// The directory of a socket, or the name of an abstract one.
    static func isSocket(_ host: String) -> Bool { host.hasPrefix("/") || host.hasPrefix("@") }
}

extension [PostgreSQLServer] {
    /// The words of a connection that tries these servers, one after the other.
    var words: [(String, String)] {
        guard !isEmpty else { return [] }
        func list(_ part: KeyPath<PostgreSQLServer, String>) -> String {
            map { $0[keyPath: part] }.joined(separator: ",")
        }
        let addresses = contains { !$0.address.isEmpty } ? [("hostaddr", list(\.address))] : []
        return [("host", list(\.host)), ("port", list(\.port))] + addresses
    }
}
