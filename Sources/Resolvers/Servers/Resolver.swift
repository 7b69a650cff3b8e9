import Net
import System

/// A configured resolver at work. For the resolvers' thread only.
final class Resolver {
    let name: String
    let settings: ResolverSettings
    let dialect: any ResolverDialect
    private(set) var servers: ServerList
    /// It is not asked before this time, and why.
    private(set) var closed: (until: Moment, failure: QueryFailure)?
    /// What the servers' clock is ahead of ours, as far as an answer has told.
    private var clockOffset: Duration = .zero
    /// When its list of servers is asked for next. nil: it has none.
    private(set) var listDue: Moment?
    private var listAskedAt: Moment?
    private var listTurn = -1
    private(set) var figures = ResolverFigures()
    let latency = LatencyCounter()

    /// Asking again would change nothing until an operator acts.
    private static let accountPause: Duration = .seconds(3600)
    private static let quotaPause: Duration = .seconds(60)
    private static let listPause: Duration = .seconds(8 * 3600)
    private static let listRetry: Duration = .seconds(300)
    private static let exhaustedPause: Duration = .seconds(30)

    init(
        _ name: String,
        _ settings: ResolverSettings,
        _ dialect: any ResolverDialect,
        listDue now: Moment
    ) {
        self.name = name
        self.settings = settings
        self.dialect = dialect
        servers = ServerList(dialect.servers)
        listDue = dialect.listQuery(at: .now) == nil ? nil : now
    }

    func time(_ host: WallTime) -> WallTime { host + clockOffset }

    /// A server for the next query; nil while none may be asked.
    func server(_ now: Moment, isUrgent: Bool) -> ResolverServer? {
        if let closed, closed.until > now { return nil }
        closed = nil
        return servers.next(now, isUrgent: isUrgent)
    }

    func answered(_ server: ResolverServer, _ outcome: ResolverFigures.Outcome) {
        servers.answered(server)
        figures.answered(outcome)
    }

    /// `told` is the server's time in its answer. Returns true if another try may do better.
    func failed(
        _ server: ResolverServer,
        _ failure: QueryFailure,
        told: WallTime?,
        _ now: Moment
    ) -> Bool {
        figures.failed(failure)
        switch failure.kind {
        case .server:
            servers.failed(server, now)
            if servers.isExhausted(now) { askForList(now) }
            return true
        case .clock:
            guard let told else {
                closed = (now + Self.quotaPause, failure)
                return false
            }
            let before = clockOffset
            clockOffset = told - .now
            let hasMoved = abs((clockOffset - before).milliseconds) > 5_000
            if !hasMoved { closed = (now + Self.quotaPause, failure) }
            return hasMoved
        case .account:
            closed = (now + Self.accountPause, failure)
            return false
        case .quota:
            closed = (now + Self.quotaPause, failure)
            return false
        case .query: return false
        }
    }

    func status(_ now: Moment) -> NameReport.ResolverStatus {
        NameReport.ResolverStatus(
            name: name,
            kind: settings.kind.name,
            servers: servers.servers.map(\.description),
            restingServers: servers.resting(now),
            figures: figures,
            latency: latency.histogram,
            closedFor: closed.flatMap { $0.until > now ? $0.until - now : nil }
        )
    }

    /// An operator asks: nothing is waited for.
    func open(_ now: Moment) {
        closed = nil
        forgetFailures()
        if listDue != nil { listDue = now }
    }

    /// No server rests any more.
    func forgetFailures() { servers = ServerList(servers.servers) }

    // MARK: - Addresses that it may not lead to

    /// Hosts for which it answered such addresses since they were last taken.
    private(set) var refusedHosts: Set<String> = []
    private static let refusedHostsMax = 16

    func noteRefused(_ host: String) {
        if refusedHosts.count < Self.refusedHostsMax { refusedHosts.insert(host) }
    }

    func takeRefusedHosts() -> Set<String> {
        defer { refusedHosts = [] }
        return refusedHosts
    }

    // MARK: - The list of servers

    private func askForList(_ now: Moment) {
        guard let due = listDue else { return }
        let soonest = listAskedAt.map { max(now, $0 + Self.exhaustedPause) } ?? now
        listDue = min(due, soonest)
    }

    /// The server to ask for the list, if that is due. While all rest, the first servers take
    /// turns.
    func takeListServer(_ now: Moment) -> ResolverServer? {
        guard let due = listDue, due <= now else { return nil }
        listDue = now + Self.listRetry
        if let closed, closed.until > now {
            listDue = closed.until
            return nil
        }
        listAskedAt = now
        guard servers.isExhausted(now) else { return server(now, isUrgent: false) }
        listTurn += 1
        return dialect.servers[listTurn % dialect.servers.count]
    }

    func listed(_ list: [ResolverServer], _ now: Moment) {
        servers.replace(with: list)
        listDue = now + Self.listPause
    }

    /// The next try, and the servers to begin with again if the list's own are all silent.
    func listFailed(_ now: Moment) {
        listDue = now + (servers.isExhausted(now) ? Self.exhaustedPause : Self.listRetry)
        if servers.isExhausted(now), servers.servers != dialect.servers {
            servers.replace(with: dialect.servers)
        }
    }

    /// A server on this machine is there for tests: its answers lead to this machine, too.
    func allows(_ address: IPAddress, from server: ResolverServer) -> Bool {
        settings.allowsPrivate || server.isOnThisMachine || PublicAddresses.contain(address)
    }
}

extension ResolverServer {
    package var isOnThisMachine: Bool { address?.isLoopback ?? IPAddress.isLoopback(host: name) }
}

/// A resolver's servers, and which of them the next query goes to: the same one while it answers,
/// then the next. A server that failed rests. If all rest, one query now and then tries the next of
/// them.
struct ServerList {
    private struct Entry {
        let server: ResolverServer
        var restsUntil: Moment?
    }

    static let rest: Duration = .seconds(300)
    /// Between two tries while all rest: for a host that has addresses of whatever age, and for one
    /// that has none. Hosts without addresses ask every other second, so the latter must be
    /// shorter.
    static let sniffPause: Duration = .seconds(30)
    static let urgentPause: Duration = .seconds(1)

    private var entries: [Entry]
    private var cursor = 0
    /// The last try while all rested.
    private var sniffed: Moment?

    init(_ servers: [ResolverServer]) {
        entries = servers.map { Entry(server: $0) }
    }

    var servers: [ResolverServer] { entries.map(\.server) }

    func resting(_ now: Moment) -> Int { entries.count { Self.rests($0, now) } }

    /// All servers failed a moment ago.
    func isExhausted(_ now: Moment) -> Bool { resting(now) == entries.count }

    /// The server for the next query. nil: none may be asked now. An urgent query is for a host
    /// without any address.
    mutating func next(_ now: Moment, isUrgent: Bool) -> ResolverServer? {
        guard !entries.isEmpty else { return nil }
        for step in 0..<entries.count {
            let place = (cursor + step) % entries.count
            guard !Self.rests(entries[place], now) else { continue }
            cursor = place
            return entries[place].server
        }
        guard nextSniff(isUrgent: isUrgent).map({ $0 <= now }) ?? true else { return nil }
        sniffed = now
        return entries[cursor].server
    }

    /// When the next query may go while all servers rest; nil: at once.
    func nextSniff(isUrgent: Bool) -> Moment? {
        sniffed.map { $0 + (isUrgent ? Self.urgentPause : Self.sniffPause) }
    }

    mutating func answered(_ server: ResolverServer) {
        sniffed = nil
        guard let place = entries.firstIndex(where: { $0.server == server }) else { return }
        cursor = place
        entries[place].restsUntil = nil
    }

    mutating func failed(_ server: ResolverServer, _ now: Moment) {
        guard let place = entries.firstIndex(where: { $0.server == server }) else { return }
        entries[place].restsUntil = now + Self.rest
        if place == cursor { cursor = (cursor + 1) % entries.count }
        // The first pause begins with the failure of the last server.
        if isExhausted(now), sniffed == nil { sniffed = now }
    }

    mutating func replace(with servers: [ResolverServer]) {
        let old = entries
        entries = servers.map { server in
            old.first { $0.server == server } ?? Entry(server: server)
        }
        cursor = 0
        sniffed = nil
    }

    private static func rests(_ entry: Entry, _ now: Moment) -> Bool {
        entry.restsUntil.map { $0 > now } ?? false
    }
}
