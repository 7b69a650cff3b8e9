import System

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
