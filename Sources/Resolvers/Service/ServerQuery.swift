import HTTPClient
import Net
import System

/// Asks one resolver for some names: the requests of its dialect at one of its servers, and once
/// more at the next if that fails.
final class ServerQuery {
    typealias Result = Swift.Result<[String: HostAnswer], QueryFailure>

    private static let triesMax = 2
    private static let bodyBytesMax = 64 << 10

    let resolver: Resolver
    let names: [String]
    private let isUrgent: Bool
    private let timeout: Duration
    private let now: @Sendable () -> WallTime
    private let whenDone: (Result) -> Void

    private var server: ResolverServer?
    private var tries = 0
    private var began = Moment.now
    private var running: [Transfer] = []
    private var found: [String: HostAnswer] = [:]
    private var failure: QueryFailure?
    /// The server's time.
    private var told: WallTime?

    init(
        _ resolver: Resolver,
        _ names: [String],
        isUrgent: Bool,
        timeout: Duration,
        now: @escaping @Sendable () -> WallTime,
        whenDone: @escaping (Result) -> Void
    ) {
        self.resolver = resolver
        self.names = names
        self.isUrgent = isUrgent
        self.timeout = timeout
        self.now = now
        self.whenDone = whenDone
    }

    func start(_ loop: TransferLoop) {
        let moment = Moment.now
        guard let server = resolver.server(moment, isUrgent: isUrgent) else {
            let pause = QueryFailure(.server, "all servers rest after failures", remedy: "none")
            return whenDone(.failure(resolver.closed?.failure ?? failure ?? pause))
        }
        self.server = server
        (tries, began, failure, found) = (tries + 1, moment, nil, [:])
        for query in resolver.dialect.queries(for: names, at: resolver.time(now())) {
            begin(query, at: server, loop)
        }
        if running.isEmpty { whenDone(.success([:])) }
    }

    func cancel(_ loop: TransferLoop) {
        for transfer in running {
            transfer.leaveQuickly()
            loop.cancel(transfer)
        }
        running = []
    }

    private func begin(_ query: ServerRequest, at server: ResolverServer, _ loop: TransferLoop) {
        let transfer = Transfer(server: server, resolver.settings, timeout)
        transfer.prepare(
            TransferRequest(query, at: server, timeout: timeout, bodyBytesMax: Self.bodyBytesMax)
        )
        running.append(transfer)
        loop.start(transfer) { [self] transfer, outcome in
            running.removeAll { $0 === transfer }
            take(outcome)
            if running.isEmpty { ended(loop) }
        }
    }

    private func take(_ outcome: TransferOutcome) {
        do throws(QueryFailure) {
            let answer = try ServerAnswer(outcome, at: server)
            if case .answered(let response) = outcome {
                told = response.head["date"].flatMap(WallTime.init(httpDate:))
            }
            for (name, new) in try resolver.dialect.answers(in: answer, to: names) {
                found[name, default: HostAnswer()].merge(new)
            }
        } catch {
            failure = error
        }
    }

    private func ended(_ loop: TransferLoop) {
        guard let server else { return }
        resolver.latency.count(since: began)
        // One family's answer is enough.
        guard let failure, found.isEmpty else {
            return whenDone(.success(checked(found, from: server)))
        }
        let mayHelp = resolver.failed(server, failure, told: told, .now)
        guard mayHelp, tries < Self.triesMax else { return whenDone(.failure(failure)) }
        start(loop)
    }

    /// Takes out addresses that this resolver may not lead to.
    private func checked(
        _ found: [String: HostAnswer],
        from server: ResolverServer
    ) -> [String: HostAnswer] {
        var checked = found
        for (name, answer) in found {
            var answer = answer
            let refused = answer.filter { resolver.allows($0, from: server) }
            let hasAny = !answer.addresses.isEmpty
            resolver.answered(server, hasAny ? .answered : refused > 0 ? .refused : .negative)
            if refused > 0 { resolver.noteRefused(name) }
            checked[name] = answer
        }
        if found.isEmpty { resolver.answered(server, .negative) }
        return checked
    }
}

// MARK: - Requests

extension Transfer {
    convenience init(server: ResolverServer, _ settings: ResolverSettings, _ timeout: Duration) {
        var options = TransferOptions(connectTimeout: timeout)
        // Some servers of DNS over HTTPS speak nothing else.
        options.offersHTTP2 = true
        if let file = settings.authorities { options.trust = .authorities(file: file) }
        self.init(options)
    }
}

extension TransferRequest {
    init(_ query: ServerRequest, at server: ResolverServer, timeout: Duration, bodyBytesMax: Int) {
        self.init(
            server.origin + query.target,
            keeping: ResponseUse(
                headers: ["age", "date"],
                body: .first(bodyBytesMax, max: bodyBytesMax)
            )
        )
        headers = ["User-Agent: sluice"]
        accept = query.accept
        timeLimit = timeout
        target = server.address.map {
            ConnectTarget(host: server.name, port: server.port, address: "\($0)")
        }
    }
}

extension ServerAnswer {
    init(_ outcome: TransferOutcome, at server: ResolverServer?) throws(QueryFailure) {
        switch outcome {
        case .answered(let response):
            self.init(
                status: response.head.status,
                body: response.body,
                age: response.head["age"].flatMap { Int($0) } ?? 0
            )
        case .failed(let failure):
            let reason = failure.refusal.map { "the answer is refused: \($0)" }
            let detail = failure.detail.isEmpty ? failure.code.description : failure.detail
            let place = server.map { " (\($0))" } ?? ""
            throw .unreadable("\(reason ?? detail)\(place)")
        }
    }
}
