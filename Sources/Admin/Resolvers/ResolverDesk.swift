import Configuration
import Delivery
import HTTP
import HTTPClient
import JSON
import Operations
import Resolvers
import Synchronization
import System

/// Answers requests of operators about resolvers: what they know, ask them again, and ask them beside the cache.
struct ResolverDesk: Sendable {
    let names: NameService
    let reporter: Reporter
    let audit: AuditTrail

    /// Questions of `resolvers/lookup` that are asked at a time, by all operators.
    private static let lookupsMax = 8
    private static let lookups = Atomic<Int>(0)

    func show(_ head: RequestHead, _ responder: Responder) {
        let report = names.status
        responder.send(
            head.wantsText ? Response(text: report.text) : Response(json: report.document)
        )
    }

    /// Asks again for the hosts in use, or for one of them.
    func refresh(_ head: RequestHead, _ holder: AdminHolder, _ responder: Responder) {
        do throws(HTTPProblem) {
            let query = try ResolverQuery(head)
            if let host = query.host, !names.status.hosts.contains(where: { $0.host == host }) {
                let message = "no destination sends to \(clipped(host)) by resolvers"
                throw HTTPProblem(404, "HostNotExist", message)
            }
            names.refresh(query.host)
            let subject = query.host.map { "addresses of \($0)" } ?? "addresses of all hosts"
            audit.record(audit.entry(holder, head, "refresh", subject))
            responder.send(
                head.wantsText
                    ? Response(202, text: "the resolvers are asked for \(subject)\n")
                    : Response(202, json: "{\"asked\":true}\n")
            )
        } catch {
            responder.send(error.response)
        }
    }

    /// Asks one resolver or all, and tries each address that they answer.
    func look(_ head: RequestHead, _ responder: Responder) {
        do throws(HTTPProblem) {
            let query = try ResolverQuery(head)
            guard let host = query.host else {
                throw HTTPProblem(400, "ParameterInvalid", "give host: the name to look up")
            }
            let known = reporter.configuration.names.resolvers.keys + [NameSettings.system]
            if let resolver = query.resolver, !known.contains(resolver) {
                let message = "there is no resolver named \(clipped(resolver))"
                throw HTTPProblem(404, "ResolverNotExist", message)
            }
            let running = Self.lookups.add(1, ordering: .relaxed).newValue
            guard running <= Self.lookupsMax else {
                Self.lookups.subtract(1, ordering: .relaxed)
                let message = "\(Self.lookupsMax) lookups are under way; retry"
                throw HTTPProblem(503, "ServerBusy", message)
            }
            let wantsText = head.wantsText
            let place = reporter.place(of: host)
            names.inquire(
                host,
                port: query.port ?? place.port,
                with: query.resolver,
                trust: place.trust
            ) { answers in
                Self.lookups.subtract(1, ordering: .relaxed)
                let sorted = answers.sorted { $0.resolver < $1.resolver }
                responder.send(
                    wantsText
                        ? Response(text: sorted.text(isEncrypted: place.trust != nil))
                        : Response(json: sorted.document(of: host))
                )
            }
        } catch {
            responder.send(error.response)
        }
    }
}

/// The parameters of a request about resolvers.
private struct ResolverQuery {
    private(set) var host: String?
    private(set) var resolver: String?
    private(set) var port: Int?

    init(_ head: RequestHead) throws(HTTPProblem) {
        guard let pairs = head.queryPairs else {
            throw HTTPProblem(400, "ParameterInvalid", "the query cannot be read")
        }
        for pair in pairs {
            switch pair.name {
            case "host":
                let name = HostName.canonical(pair.value)
                guard HostName.isValid(name) else {
                    let message = "\(clipped(pair.value)) is not the name of a host"
                    throw HTTPProblem(400, "ParameterInvalid", message)
                }
                host = name
            case "with": resolver = pair.value
            default:
                guard let number = UInt16(pair.value), number > 0 else {
                    let message = "port cannot be \(clipped(pair.value)); it is 1 to 65535"
                    throw HTTPProblem(400, "ParameterInvalid", message)
                }
                port = Int(number)
            }
        }
    }
}

extension Reporter {
    /// How a destination connects to the host; else as the web does.
    fileprivate func place(of host: String) -> (port: Int, trust: TransferOptions.Trust?) {
        for destination in configuration.destinations {
            for origin in destination.deliverySettings.origins {
                guard let server = ResolverServer(origin), server.name == host else { continue }
                guard server.isEncrypted else { return (server.port, nil) }
                let file = destination.transfer.certificateFile
                return (server.port, file.map { .authorities(file: $0) } ?? .system)
            }
        }
        return (443, .system)
    }
}

// MARK: - Documents

extension NameReport {
    fileprivate var document: String {
        var json = JSONWriter()
        json.object { json in
            json.array("resolvers") { json in
                for resolver in resolvers { json.object { $0.resolver(resolver) } }
            }
            json.array("hosts") { json in
                for host in hosts { json.object { $0.host(host) } }
            }
        }
        return json.text + "\n"
    }

    fileprivate var text: String {
        var lines: [String] = []
        if resolvers.isEmpty, hosts.isEmpty {
            lines = ["no resolvers are configured; the system resolves all names"]
        }
        for resolver in resolvers {
            lines.append("resolver  \(resolver.name): \(resolver.kind), \(resolver.state)")
            lines.append("  servers \(resolver.servers.joined(separator: ", "))")
            if let failure = resolver.figures.failure {
                lines.append("  problem \(printable(failure.description))")
            }
        }
        for host in hosts {
            lines.append("host  \(host.host): \(host.state)")
            for address in host.addresses {
                let time = address.connectTime.map { ", connects in \(spanText($0))" } ?? ""
                let rest = address.rests ? ", failed a moment ago" : ""
                lines.append("  \(address.address)\(time)\(rest)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension NameReport.ResolverStatus {
    fileprivate var state: String {
        if let closedFor { return "not asked for \(spanText(closedFor))" }
        guard restingServers > 0 else { return "works" }
        return restingServers == servers.count
            ? "no server answers" : "\(restingServers) of \(servers.count) servers do not answer"
    }
}

extension NameReport.HostStatus {
    fileprivate var state: String {
        guard let resolver, let remaining else {
            return "no address from \(resolvers.joined(separator: ", "))"
        }
        return isStale
            ? "from \(resolver), stale for \(spanText(.zero - remaining))"
            : "from \(resolver), for \(spanText(remaining))"
    }
}

extension JSONWriter {
    fileprivate mutating func resolver(_ resolver: NameReport.ResolverStatus) {
        member("name", resolver.name)
        member("kind", resolver.kind)
        array("servers") { json in resolver.servers.forEach { json.element($0) } }
        member("resting_servers", resolver.restingServers)
        member("closed_seconds", decimal: resolver.closedFor?.inSeconds)
        object("queries") { json in
            for (outcome, count) in resolver.figures.counts.named { json.member(outcome, count) }
        }
        member("problem", resolver.figures.failure?.description)
    }

    fileprivate mutating func host(_ host: NameReport.HostStatus) {
        member("host", host.host)
        array("resolve") { json in host.resolvers.forEach { json.element($0) } }
        member("resolver", host.resolver)
        member("stale", host.isStale)
        member("seconds_left", decimal: host.remaining?.inSeconds)
        array("addresses") { json in
            for address in host.addresses {
                json.object { json in
                    json.member("address", "\(address.address)")
                    json.member("connect_seconds", decimal: address.connectTime?.inSeconds)
                    json.member("failed", address.rests)
                }
            }
        }
    }
}

extension [InquiryAnswer] {
    fileprivate func document(of host: String) -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("host", host)
            json.array("answers") { json in
                for answer in self {
                    json.object { json in
                        json.member("resolver", answer.resolver)
                        json.member("seconds", decimal: answer.took.inSeconds)
                        json.member("problem", answer.problem)
                        json.array("addresses") { json in
                            for trial in answer.trials { json.object { $0.trial(trial) } }
                        }
                    }
                }
            }
        }
        return json.text + "\n"
    }

    fileprivate func text(isEncrypted: Bool) -> String {
        let fine = isEncrypted ? "connects, certificate fine" : "connects"
        var lines: [String] = []
        for answer in self {
            let problem = answer.problem.map { ": \(printable($0))" } ?? ""
            lines.append("\(answer.resolver), after \(spanText(answer.took))\(problem)")
            for trial in answer.trials {
                let verdict = trial.problem.map { "FAILS: \(printable($0))" } ?? fine
                let time = trial.connectTime.map { " in \(spanText($0))" } ?? ""
                let lifetime = spanText(trial.timeToLive)
                lines.append("  \(trial.address)  TTL \(lifetime)  \(verdict)\(time)")
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension JSONWriter {
    fileprivate mutating func trial(_ trial: InquiryAnswer.Trial) {
        member("address", "\(trial.address)")
        member("ttl_seconds", seconds: trial.timeToLive)
        member("connect_seconds", decimal: trial.connectTime?.inSeconds)
        member("problem", trial.problem)
    }
}
