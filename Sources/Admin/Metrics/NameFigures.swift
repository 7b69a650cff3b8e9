import Delivery
import Operations
import Resolvers
import System

/// Figures of resolvers and of the addresses that they answer.
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
