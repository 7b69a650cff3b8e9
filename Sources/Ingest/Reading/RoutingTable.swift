package import Configuration
import Queue
import SLS
import System

/// Finds the destination of a request.
///
/// The project is the first label of `Host` if a destination has it, otherwise the default destination's. Within the
/// project the logstore decides; a destination that names the logstore takes precedence over "*".
package struct RoutingTable: Sendable {
    /// Where the logs of a request go, with the settings that apply there.
    struct Target: Equatable {
        let destination: String
        let logstore: String
        let labels: Destination.Labels
        let intake: Destination.Intake
        /// The tag, for a request that has one instead of a logstore.
        var tag: String?

        var outlet: Outlet { Outlet(destination: destination, logstore: logstore) }
    }

    private let projects: [String: [Destination]]
    private let fallback: Destination

    package init(_ configuration: GatewayConfiguration) {
        // One without a project is reached as the default destination alone, and by routes.
        projects = Dictionary(
            grouping: configuration.destinations.filter { $0.kind == .sls },
            by: \.project
        )
        fallback = configuration.defaultDestination
    }

    func target(
        host: String?,
        project: String?,
        _ address: LogAddress
    ) throws(Refusal) -> Target {
        switch address {
        case .logstore(let name): try target(host: host, project: project, logstore: name)
        case .tag(let tag): try target(host: host, project: project, tag: tag)
        }
    }

    /// The target of a request with a logstore in its path. `host` and `project` are the `Host` and `x-log-project`
    /// headers; clients send the latter when their host is an address.
    func target(
        host: String?,
        project: String?,
        logstore: String
    ) throws(Refusal) -> Target {
        let candidates = try destinations(host: host, project: project)
        if let only = candidates[0].onlyLogstore { return target(candidates[0], only) }
        if let exact = candidates.first(where: { $0.logstore == .named(logstore) }) {
            return target(exact, logstore)
        }
        guard let any = candidates.first(where: { $0.logstore == .any }) else {
            throw Refusal(
                404,
                "LogStoreNotExist",
                "logstore \(clipped(logstore)) does not exist in project \(candidates[0].project)"
            )
        }
        if let problem = NamePattern.logstore.problem(with: logstore) {
            throw Refusal(404, "LogStoreNotExist", clipped(problem, to: 160))
        }
        return target(any, logstore)
    }

    /// The target of a request with a tag instead of a logstore. If the destination accepts every logstore, the tag's
    /// first term names it: `pv.home` is for `pv`. No logstore's name has a dot.
    func target(host: String?, project: String?, tag: String) throws(Refusal) -> Target {
        let candidates = try destinations(host: host, project: project)
        let destination =
            candidates.first { $0.name == fallback.name } ?? candidates[0]
        switch destination.logstore {
        case .named(let logstore): return target(destination, logstore, tag)
        case .any:
            let end = tag.utf8.firstIndex(of: UInt8(ascii: "."))
            let term = String(tag[..<(end ?? tag.endIndex)])
            if let problem = NamePattern.logstore.problem(with: term) {
                throw Refusal(404, "LogStoreNotExist", clipped(problem, to: 160))
            }
            return target(destination, term, tag)
        }
    }

    private func destinations(
        host: String?,
        project: String?
    ) throws(Refusal) -> [Destination] {
        if let project {
            guard let found = projects[project] else {
                throw Refusal(
                    404,
                    "ProjectNotExist",
                    "project \(clipped(project)) does not exist here"
                )
            }
            return found
        }
        let label = host.map { host in
            let end = host.utf8.firstIndex { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") }
            return host[..<(end ?? host.endIndex)].lowercased()
        }
        return label.flatMap { projects[$0] }
            ?? (fallback.kind == .sls ? projects[fallback.project] : nil)
            ?? [fallback]
    }

    private func target(
        _ destination: Destination,
        _ logstore: String,
        _ tag: String? = nil
    ) -> Target {
        Target(
            destination: destination.name,
            logstore: logstore,
            labels: destination.labels,
            intake: destination.intake,
            tag: tag
        )
    }
}
