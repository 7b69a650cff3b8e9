import Credentials
import Delivery
import Operations
import Resolvers
import System

enum GatewayFigures {
    static let build = FigureGroup<Int>(.gateway, by: ["version"]) { _ in [([Version.current], 1)] }
        .table([
            Figure("sluice_build_info", \.self): "The version that runs; always 1."
        ])

    static let parts: [any FigurePart] = [
        credentials, webhook, operation, process, threads, start,
    ]

    private static let credentials = FigureGroup<CredentialStatus>(.gateway, by: ["credential"]) {
        $0.credentials.map { ([$0.name], $0) }
    }.table([
        Figure("sluice_credential_state", by: "state") { credential in
            CredentialStatus.State.allCases.map { ($0.rawValue, credential.state == $0) }
        }: "1 for the state that the credential is in.",
        Figure("sluice_credential_seconds_left") { credential, _ in credential.secondsLeft }:
            "Seconds until the credential expires; negative after that, absent without an end.",
        Figure("sluice_credential_failures", \.failures):
            "Failures of its source since it last worked.",
    ])

    private static let webhook = FigureGroup<WebhookStatus>(.gateway, \.webhook).table([
        Figure("sluice_webhook_events_total", by: "result") {
            [("sent", $0.sent), ("failed", $0.failed), ("dropped", $0.dropped)]
        }: "Messages for the webhook, by result.",
        Figure("sluice_webhook_waiting_events", \.waiting): "Messages that wait for the webhook.",
    ])

    private static let operation = FigureGroup<GatewayReport>(.gateway) { $0 }.table([
        Figure("sluice_ready", \.reasonsAgainstTraffic.isEmpty):
            "1 if the gateway is ready for traffic.",
        Figure("sluice_draining", \.intake.isDraining):
            "1 while the gateway drains and refuses new logs.",
        Figure("sluice_captures_running", \.looks.captures): "Captures of requests that run.",
        Figure("sluice_captured_requests_total", \.looks.captured):
            "Requests that captures have kept.",
        Figure("sluice_captures_bytes", \.looks.captureBytes):
            "Bytes held by all captures, at most limits.captures.",
        Figure("sluice_refusals_missed_total", \.looks.refusalsMissed):
            "Refused requests that a flood left out of the list of refusals.",
        Figure("sluice_console_sessions", \.looks.sessions): "Open sessions of the console.",
        Figure("sluice_admin_changes_total", by: "action") {
            $0.changes.map { ($0.action, $0.count) }
        }: "Changes by operators, by action.",
    ])

    /// Under the names that every Prometheus client library uses.
    static let process = FigureGroup<ProcessFigures>(.gateway) { _ in .now }.table([
        Figure("process_resident_memory_bytes", \.residentBytes, member: "resident_bytes"):
            "Memory in use.",
        Figure("process_virtual_memory_bytes", \.virtualBytes): "Address space in use.",
        Figure("process_cpu_seconds_total", \.cpu, member: "cpu_seconds"):
            "CPU time, user and system.",
        Figure("process_open_fds", \.openDescriptors, member: "open_descriptors"):
            "Open descriptors.",
        Figure("process_max_fds", \.descriptorsMax): "Descriptors that may be open.",
        Figure("process_threads", \.threads): "Threads of the process.",
    ])

    /// On a full machine they show which threads have the cores, and which wait for one.
    private static let threads = FigureGroup<ThreadFigures>(.gateway, by: ["thread"]) { _ in
        ThreadFigures.now.map { ([$0.name], $0) }
    }.table([
        Figure("sluice_thread_cpu_seconds_total", \.cpu): "CPU time of the thread.",
        Figure("sluice_thread_wait_seconds_total", \.waited):
            "Time that the thread was ready to run and had no core.",
    ])

    private static let start = FigureGroup<GatewayReport>(.gateway) { $0 }.table([
        Figure("process_start_time_seconds") { report, now in
            .nanoseconds(now.nanoseconds) - report.uptime as Duration
        }: "When the process started."
    ])
}

enum NameFigures {
    static let parts: [any FigurePart] = [resolvers, hosts, inUse, cache]

    private static let resolvers = FigureGroup<NameReport.ResolverStatus>(.names, by: ["resolver"])
    { $0.names.resolvers.map { ([$0.name], $0) } }.table([
        Figure("sluice_resolver_queries_total", by: "outcome") { $0.figures.counts.named }:
            "Queries, by outcome.",
        Figure("sluice_resolver_query_seconds", histogram: \.latency):
            "How long queries took, failed ones included.",
        Figure("sluice_resolver_resting_servers", \.restingServers):
            "Servers that failed and are not asked for a while.",
        Figure("sluice_resolver_closed", \.isClosed):
            "1 while the resolver is not asked, because it refused the account or its quota is used up.",
    ])

    private static let hosts = FigureGroup<NameReport.HostStatus>(.names, by: ["host"]) { report in
        var known: Set<String> = []
        return report.names.hosts.filter { known.insert($0.host).inserted }.map {
            ([$0.host], $0)
        }
    }.table([
        Figure("sluice_host_addresses", \.addresses.count): "Addresses of the host.",
        Figure("sluice_host_resting_addresses", \.restingAddresses):
            "Addresses that failed a moment ago and are tried last.",
        Figure("sluice_host_stale", \.isStale):
            "1 while the addresses are used although their time is over.",
        Figure("sluice_host_uses_total", by: "state") {
            [("fresh", $0.uses[.fresh]), ("stale", $0.uses[.stale]), ("none", $0.uses[.none])]
        }: "How often a sender looked at the addresses: in their time, stale, or none there.",
    ])

    private static let inUse = FigureGroup<DestinationStatus>(
        .names,
        by: ["destination", "address", "resolver"]
    ) { report in
        report.destinations.compactMap { destination in
            destination.delivery.resolver.map { resolver in
                (
                    [destination.name, destination.delivery.address, resolver],
                    destination.delivery
                )
            }
        }
    }.table([
        Figure("sluice_destination_address_info") { _, _ in 1 }:
            "Always 1: where the destination's last request went, and who named the address."
    ])

    private static let cache = FigureGroup<NameReport>(.names, \.names).table([
        Figure("sluice_hosts", \.hosts.count): "Hosts in the cache, one a port.",
        Figure("sluice_hosts_refused_total", \.refusedHosts):
            "Hosts that found no place in the cache and are connected to by name.",
    ])
}

extension NameReport.ResolverStatus {
    fileprivate var isClosed: Bool { closedFor != nil }
}

extension NameReport.HostStatus {
    fileprivate var restingAddresses: Int { addresses.count(where: \.rests) }
}
