import Configuration
import Delivery
import HTTP
import HTTPClient
import JSON
import Operations
import Resolvers
import Synchronization
import System

/// What resolvers know. They may be asked again, and beside the cache.
extension AdminCall {
    /// Questions of `resolvers/lookup` that are asked at a time, by all operators.
    private static let lookupsMax = 8
    private static let lookups = Atomic<Int>(0)

    func resolvers() -> Response {
        let report = shared.parts.names.status
        return .json { json in
            json.objects("resolvers", report.resolvers) { $0.resolver($1) }
            json.objects("hosts", report.hosts) { $0.host($1) }
        }
    }

    /// Asks again for the hosts in use, or for one of them.
    func refreshAddresses() throws(HTTPProblem) -> Response {
        let host = try host()
        if let host, !shared.parts.names.status.hosts.contains(where: { $0.host == host }) {
            let message = "no destination sends to \(clipped(host)) by resolvers"
            throw .notFound("HostNotExist", message)
        }
        shared.parts.names.refresh(host)
        let subject = host.map { "addresses of \($0)" } ?? "addresses of all hosts"
        record("refresh", subject)
        return .json(202) { $0.member("asked", true) }
    }

    /// Asks one resolver or all, and tries each address that they answer.
    func lookUp() throws(HTTPProblem) -> Response? {
        let reporter = shared.reporter
        guard let host = try host() else { throw .query("give host: the name to look up") }
        let port = try head.number("port", 1...Int(UInt16.max))
        let resolver = head.parameter("with")
        let known = reporter.configuration.names.resolvers.keys + [NameSettings.system]
        if let resolver, !known.contains(resolver) {
            let message = "there is no resolver named \(clipped(resolver))"
            throw .notFound("ResolverNotExist", message)
        }
        let running = Self.lookups.add(1, ordering: .relaxed).newValue
        guard running <= Self.lookupsMax else {
            Self.lookups.subtract(1, ordering: .relaxed)
            throw .busy("\(Self.lookupsMax) lookups are under way; try again when one has ended")
        }
        let place = reporter.place(of: host)
        shared.parts.names.inquire(
            host,
            port: port ?? place.port,
            with: resolver,
            trust: place.trust
        ) { answers in
            Self.lookups.subtract(1, ordering: .relaxed)
            let sorted = answers.sorted { $0.resolver < $1.resolver }
            responder.send(
                .json { json in
                    json.member("host", host)
                    json.member("encrypted", place.trust != nil)
                    json.objects("answers", sorted) { $0.inquiry($1) }
                }
            )
        }
        return nil
    }

    private func host() throws(HTTPProblem) -> String? {
        guard let text = head.parameter("host") else { return nil }
        let name = HostName.canonical(text)
        guard HostName.isValid(name) else {
            throw .query("\(clipped(text)) is not the name of a host")
        }
        return name
    }
}

extension Reporter {
    /// How a destination connects to the host; else as the web does.
    fileprivate func place(of host: String) -> (port: Int, trust: TransferOptions.Trust?) {
        for destination in configuration.destinations {
            for origin in destination.origins {
                guard let server = ResolverServer(origin), server.name == host else { continue }
                guard server.isEncrypted else { return (server.port, nil) }
                let file = destination.transfer.transport.certificateAuthorities
                return (server.port, file.map { .authorities(file: $0) } ?? .system)
            }
        }
        return (443, .system)
    }
}

// MARK: - Documents

extension JSONWriter {
    fileprivate mutating func resolver(_ resolver: NameReport.ResolverStatus) {
        member("name", resolver.name)
        member("kind", resolver.kind)
        texts("servers", resolver.servers)
        member("resting_servers", resolver.restingServers)
        member("closed_seconds", decimal: resolver.closedFor?.inSeconds)
        object("queries") { json in
            for (outcome, count) in resolver.figures.counts.named { json.member(outcome, count) }
        }
        member("problem", resolver.figures.failure?.description)
    }

    fileprivate mutating func host(_ host: NameReport.HostStatus) {
        member("host", host.host)
        texts("resolve", host.resolvers)
        member("resolver", host.resolver)
        member("stale", host.isStale)
        member("seconds_left", decimal: host.remaining?.inSeconds)
        objects("addresses", host.addresses) { json, address in
            json.member("address", "\(address.address)")
            json.member("connect_seconds", decimal: address.connectTime?.inSeconds)
            json.member("failed", address.rests)
        }
    }

    fileprivate mutating func inquiry(_ answer: InquiryAnswer) {
        member("resolver", answer.resolver)
        member("seconds", decimal: answer.took.inSeconds)
        member("problem", answer.problem)
        objects("addresses", answer.trials) { json, trial in
            json.member("address", "\(trial.address)")
            json.member("ttl_seconds", seconds: trial.timeToLive)
            json.member("connect_seconds", decimal: trial.connectTime?.inSeconds)
            json.member("problem", trial.problem)
        }
    }
}
