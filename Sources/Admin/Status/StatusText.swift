import Delivery
import Operations
import Queue
import Resolvers
import System

extension GatewayReport {
    /// `GET /admin/status` as text, for a person in a hurry.
    var statusText: String {
        var lines = summary
        lines += ["", "sluice \(Version.current), up \(spanText(uptime)), at \(now.rfc3339)"]
        if let line = queue.intake.line { lines.append(line) }
        lines += queue.ledger.lines
        for destination in destinations {
            lines += ["", "destination  \(destination.name): \(destination.stateText)"]
            lines += destination.lines(now)
        }
        for (name, ledger) in strangers.sorted(by: { $0.key < $1.key }) {
            lines += ["", "destination  \(name): no longer in the configuration"]
            lines += ledger.lines
        }
        if let fleet = queue.fleet { lines += [""] + fleet.lines }
        lines += names.troubles
        if !credentials.isEmpty { lines += [""] }
        lines += credentials.flatMap {
            "credential   \($0.line)".split(separator: "\n").map(String.init)
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension FleetStatus {
    /// The whole cluster, as this gateway sees it.
    fileprivate var lines: [String] {
        var lines = ["cluster      \(node) is one of \(others.count { $0.isAlive } + 1) gateways"]
        if let problem { lines.append("  trouble    it cannot be reached: \(printable(problem))") }
        if let problem = messages.problem {
            lines.append("  trouble    the others cannot be heard: \(printable(problem))")
        }
        for shard in shards {
            let problem = shard.problem.map { "; \(printable($0.description))" } ?? ""
            lines.append(
                "  shard      \(shard.name), \(shard.role.rawValue), \(shard.queued) queued\(problem)"
            )
        }
        for other in others {
            let state = other.isAlive ? "" : "GONE, "
            let trouble = other.problem.map { "; \(printable($0))" } ?? ""
            lines.append(
                "  gateway    \(other.name): \(state)\(counted(other.shards.count, "shard")), "
                    + "\(other.ledger.queued) queued, \(other.ledger.dead) dead\(trouble)"
            )
        }
        if let adopting { lines.append("  adopting   \(adopting)") }
        for orphan in orphans {
            let reason = refusedOrphans[orphan].map { "; not adopted: \(printable($0))" } ?? ""
            lines.append("  orphan     \(orphan)\(reason)")
        }
        return lines
    }
}

extension NameReport {
    /// What is not well with resolvers; `sluice resolve` shows all.
    fileprivate var troubles: [String] {
        let resolvers = resolvers.compactMap { resolver in
            resolver.figures.failure.map {
                "resolver     \(resolver.name): \(printable($0.description))"
            }
        }
        let hosts = hosts.filter { $0.isStale || $0.addresses.isEmpty }.map {
            "host         \($0.host): "
                + ($0.addresses.isEmpty ? "no address" : "only old addresses")
        }
        return resolvers.isEmpty && hosts.isEmpty ? [] : [""] + resolvers + hosts
    }
}

extension IntakeTally {
    /// Nil if every log has gone to one destination, so that the ledger says the same.
    fileprivate var line: String? {
        guard filtered > 0 || dropped > 0 || copies != routed else { return nil }
        return
            "  received   \(received) = filtered \(filtered) + dropped \(dropped) + routed \(routed), "
            + "in \(copies) copies"
    }
}

extension Ledger {
    /// The equation, which must always hold.
    fileprivate var lines: [String] {
        let equation =
            "accepted \(accepted) = delivered \(delivered) + queued \(queued) + dead \(dead) "
            + "+ expired \(expired) + discarded \(discarded)"
        let verdict = isClosed ? "" : "   DOES NOT HOLD: report this as a defect of Sluice"
        let more =
            skipped > 0
            ? ["             skipped \(skipped) for lack of room (required: false)"] : []
        return ["  ledger     \(equation)\(verdict)"] + more
    }
}

extension GatewayReport.Destination {
    fileprivate var stateText: String { delivery.stateName + (isRemoved ? ", leaving" : "") }

    func lines(_ now: WallTime) -> [String] {
        var lines = ["  sends to   \(place)"]
        if let reason = delivery.endpointReason { lines.append("             because \(reason)") }
        if let resolver = delivery.resolver {
            lines.append("  address    \(delivery.address), from \(resolver)")
        }
        lines += queue.ledger.lines
        if queue.imbalance != 0 {
            lines.append(
                "             IT IS OFF BY \(queue.imbalance) LOGS: report this as a defect of Sluice"
            )
        }
        if let oldest = queue.oldest {
            let age = Duration.nanoseconds(now.nanoseconds - oldest.nanoseconds)
            lines.append("  oldest     \(spanText(age))")
        }
        if let rate = delivery.rate {
            let tenths = (rate * 10).rounded() / 10
            lines.append("  pace       \(tenths) requests/s, which the project's quota allows")
        }
        if let notice { lines.append("  notice     \(notice)") }
        if let trouble { lines.append("  trouble    \(printable(trouble))") }
        // The destination's own trouble covers its logstores.
        if delivery.trouble == nil { lines += troubledLogstores }
        if let failure = delivery.lastFailure {
            let id = failure.requestID.map { " (request id \($0))" } ?? ""
            lines += [
                "  last error \(failure.at.rfc3339) \(failure.logstore): "
                    + printable(failure.summary + id),
                "  sdk result \(failure.result.name) (\(failure.result.number))",
                "  remedy     \(failure.remedy)",
            ]
        }
        return lines
    }
}

extension GatewayReport.Destination {
    private static let shownMax = 10

    /// Logstores that accept nothing while others do.
    fileprivate var troubledLogstores: [String] {
        let troubles = outlets.compactMap { outlet in
            outlet.delivery?.trouble.map {
                "  logstore   \(outlet.logstore), \(outlet.queue.queued) queued: \($0)"
            }
        }
        let more = troubles.count - Self.shownMax
        return troubles.prefix(Self.shownMax) + (more > 0 ? ["             and \(more) more"] : [])
    }
}
