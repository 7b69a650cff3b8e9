import HTTPClient
import System

/// The configured resolvers, and the queries under way to their servers. For the resolvers' thread
/// only.
final class ResolverPool {
    /// A name that waits for a resolver's query in this turn.
    private struct Wish {
        let host: String
        let isUrgent: Bool
        let whenDone: (Flight.Outcome) -> Void
    }

    private let parts: NameLoop.Parts
    private var timeout: Duration
    private var resolvers: [String: Resolver] = [:]
    private var queries: [ObjectIdentifier: ServerQuery] = [:]
    private var lists: [String: Transfer] = [:]
    private var wishes: [String: [Wish]] = [:]
    private var notices = NameNotices()
    /// A query has ended since the last call of `takeNews`.
    private var hasNews = false

    init(_ parts: NameLoop.Parts, _ timeout: Duration) {
        self.parts = parts
        self.timeout = timeout
    }

    subscript(name: String) -> Resolver? { resolvers[name] }
    var all: some Collection<Resolver> { resolvers.values }

    /// When a list of servers is due.
    var nextList: Moment? { all.compactMap { lists[$0.name] == nil ? $0.listDue : nil }.min() }

    func use(_ settings: NameSettings, _ now: Moment) {
        timeout = settings.timeout
        var next: [String: Resolver] = [:]
        for (name, resolver) in settings.resolvers {
            if let running = resolvers[name], running.settings == resolver {
                next[name] = running
            } else if let dialect = resolver.dialect {
                next[name] = Resolver(name, resolver, dialect, listDue: now)
            }
        }
        resolvers = next
    }

    func takeNews() -> Bool {
        defer { hasNews = false }
        return hasNews
    }

    /// Asks a resolver for a host in this turn. The answer comes later, on this thread.
    func ask(
        _ name: String,
        _ host: String,
        isUrgent: Bool,
        whenDone: @escaping (Flight.Outcome) -> Void
    ) {
        let wish = Wish(host: host, isUrgent: isUrgent, whenDone: whenDone)
        wishes[name, default: []].append(wish)
    }

    /// Starts the queries of a turn, and asks for lists of servers that are due.
    func advance(_ moment: Moment) {
        sendWishes()
        for resolver in all { askForList(resolver, moment) }
    }

    /// What is under way refers to this object and keeps it, unless it is let go.
    func cancelAll() {
        for query in queries.values { query.cancel(parts.loop) }
        for transfer in lists.values { parts.loop.cancel(transfer) }
        (queries, lists, wishes) = ([:], [:], [:])
    }

    /// Hosts that want the same resolver in one turn share its queries.
    private func sendWishes() {
        while let (name, waiting) = wishes.popFirst() {
            guard let resolver = resolvers[name] else {
                for wish in waiting { wish.whenDone(.failed) }
                continue
            }
            var rest = waiting[...]
            while !rest.isEmpty {
                let batch = Array(rest.prefix(resolver.dialect.namesMax))
                rest = rest.dropFirst(batch.count)
                send(batch, to: resolver)
            }
        }
    }

    private func send(_ batch: [Wish], to resolver: Resolver) {
        var names: [String] = []
        for wish in batch where !names.contains(wish.host) { names.append(wish.host) }
        var key: ObjectIdentifier?
        let query = ServerQuery(
            resolver,
            names,
            isUrgent: batch.contains(where: \.isUrgent),
            timeout: timeout,
            now: parts.now
        ) { [self] result in
            if let key { queries[key] = nil }
            hasNews = true
            notices.note(resolver, result, parts.journal)
            for wish in batch { wish.whenDone(Self.outcome(of: wish.host, result)) }
        }
        key = ObjectIdentifier(query)
        queries[ObjectIdentifier(query)] = query
        query.start(parts.loop)
    }

    private static func outcome(of host: String, _ result: ServerQuery.Result) -> Flight.Outcome {
        guard case .success(let answers) = result else { return .failed }
        guard let answer = answers[host] else { return .failed }
        return answer.addresses.isEmpty ? .negative(answer.timeToLive) : .addresses(answer)
    }

    private func askForList(_ resolver: Resolver, _ moment: Moment) {
        guard lists[resolver.name] == nil, let server = resolver.takeListServer(moment),
            let query = resolver.dialect.listQuery(at: resolver.time(parts.now()))
        else { return }
        let transfer = Transfer(server: server, resolver.settings, timeout)
        transfer.prepare(
            TransferRequest(query, at: server, timeout: timeout, bodyBytesMax: 64 << 10)
        )
        lists[resolver.name] = transfer
        parts.loop.start(transfer) { [self] _, outcome in
            lists[resolver.name] = nil
            hasNews = true
            do throws(QueryFailure) {
                let answer = try ServerAnswer(outcome, at: server)
                resolver.listed(try resolver.dialect.list(in: answer), .now)
            } catch {
                resolver.listFailed(.now)
            }
        }
    }
}

/// Tells operators about resolvers, once when one begins to fail and once when it works again.
struct NameNotices {
    private var failing: Set<String> = []
    private var refused: Set<String> = []

    private static let refusedMax = 256

    mutating func note(_ resolver: Resolver, _ result: ServerQuery.Result, _ journal: Journal) {
        for host in resolver.takeRefusedHosts().sorted() where refused.count < Self.refusedMax {
            guard refused.insert("\(resolver.name) \(host)").inserted else { continue }
            journal.warning(
                "resolver answered addresses of a private network, which are not used",
                [
                    "resolver": resolver.name, "host": host,
                    "remedy": "if they are right, set allow_private: true for this resolver",
                ]
            )
        }
        switch result {
        case .failure(let failure):
            guard failing.insert(resolver.name).inserted else { return }
            journal.warning(
                "resolver does not answer",
                ["resolver": resolver.name, "reason": failure.code, "remedy": failure.remedy]
            )
        case .success:
            guard failing.remove(resolver.name) != nil else { return }
            journal.info("resolver answers again", ["resolver": resolver.name])
        }
    }
}
