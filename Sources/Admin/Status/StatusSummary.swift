import Credentials
import Delivery
import Net
import Operations
import Queue
import Resolvers
import System

/// What a woken operator asks, the most important first. Each line begins with the answer.
extension GatewayReport {
    private static let troublesMax = 3

    var summary: [String] {
        accepting.map { "accepting    \($0)" } + delivering
            + ["backlog      \(backlog)"] + credentialLines + certificateLines + lastErrorLines
            + nameLines
    }

    private var accepting: [String] {
        if intake.isStopping { return ["no: the gateway is stopping"] }
        if intake.isDraining {
            return ["no: the gateway is draining; accept logs again with: sluice drain --end"]
        }
        if let reason = queue.admission.reason {
            return ["no: " + (queue.problem.map { "\(reason): \($0)" } ?? reason)]
        }
        let full = destinations.filter { $0.queue.admission == .destinationFull }.map(\.name)
        guard !full.isEmpty else { return ["yes"] }
        return [
            "yes, but not for \(full.joined(separator: ", ")): no room left for it in the queue"
        ]
    }

    /// Why logs do not arrive, for each destination in trouble.
    private var delivering: [String] {
        let troubles = destinations.compactMap { destination in
            destination.delivery.trouble.map { "\(destination.name): \(printable($0))" }
        }
        guard !troubles.isEmpty else { return ["delivering   yes"] }
        let isStuck = destinations.allSatisfy { $0.isRemoved || $0.delivery.trouble != nil }
        let word = isStuck ? "no" : "partly"
        let more = troubles.count - Self.troublesMax
        return Self.block(
            "delivering   \(word), ",
            troubles.prefix(Self.troublesMax) + (more > 0 ? ["and \(more) more"] : [])
        )
    }

    private var backlog: String {
        let logs = queue.ledger.queued
        let size = "\(roughSize(queue.bytes)) of \(roughSize(queue.bytesMax))"
        guard logs > 0 else { return "nothing waits, \(size)" }
        let oldest = queue.oldest.map { ", the oldest for \(age(of: $0))" } ?? ""
        return "\(counted(logs, "log")) \(logs == 1 ? "waits" : "wait"), \(size)\(oldest)"
    }

    /// Credentials in trouble, and the one that expires first.
    private var credentialLines: [String] {
        let troubled = credentials.filter { ![.ok, .refreshing].contains($0.state) }
        let awaited = credentials.filter { $0.state == .refreshing && $0.fingerprint == nil }
        let next = credentials.compactMap { each in each.secondsLeft.map { (each.name, $0) } }
            .filter { $0.1 > 0 }.min { $0.1 < $1.1 }
        var texts = troubled.prefix(Self.troublesMax).map {
            "\($0.name) is \($0.state.rawValue); rotate it: sluice rotate \($0.name)"
        }
        texts += awaited.prefix(Self.troublesMax).map {
            "\($0.name) has not been fetched yet"
        }
        if let (name, left) = next {
            texts.append("\(name) expires in \(spanText(.seconds(left)))")
        }
        if texts.isEmpty { texts = ["fine, none expires"] }
        return Self.block("credentials  ", texts)
    }

    /// Certificates that expire soon or cannot be renewed.
    private var certificateLines: [String] {
        let texts = listeners.flatMap { listener -> [String] in
            guard let status = listener.certificates else { return [] }
            let warnings =
                status.certificates.compactMap { $0.warning(at: now) }
                + status.revocationLists.compactMap { $0.warning(at: now) }
            let failure = status.problem.map { "cannot be renewed: \($0)" }
            return (warnings + [failure].compactMap(\.self)).map { "\(listener.name): \($0)" }
        }
        return Self.block("certificate  ", texts)
    }

    private var lastErrorLines: [String] {
        let failures = destinations.compactMap { destination in
            destination.delivery.lastFailure.map { (destination, $0) }
        }
        guard let (destination, failure) = failures.max(by: { $0.1.at < $1.1.at }) else {
            return ["last error   none since the start"]
        }
        let isOver = destination.delivery.lastSuccess.map { $0 > failure.at } ?? false
        return [
            "last error   \(age(of: failure.at)) ago, \(destination.name)/\(failure.logstore)"
                + "\(isOver ? " (delivered since)" : ""): \(printable(failure.summary))",
            "  remedy     \(failure.remedy)",
        ]
    }

    /// Resolvers and hosts that are not well; `sluice resolve` shows all.
    private var nameLines: [String] {
        let resolvers = names.resolvers.compactMap { resolver in
            resolver.figures.failure.map {
                "resolver     \(resolver.name): \(printable($0.description))"
            }
        }
        let hosts = names.hosts.filter { $0.isStale || $0.addresses.isEmpty }.map {
            "host         \($0.host): "
                + ($0.addresses.isEmpty ? "no address" : "only old addresses")
        }
        return Self.first(resolvers) + Self.first(hosts)
    }

    /// Lines under one title.
    private static func block(_ title: String, _ texts: [String]) -> [String] {
        texts.enumerated().map { ($0.offset == 0 ? title : "             ") + $0.element }
    }

    /// The first lines, and how many are left out.
    private static func first(_ lines: [String]) -> [String] {
        let more = lines.count - troublesMax
        return Array(lines.prefix(troublesMax))
            + (more > 0 ? ["             and \(more) more"] : [])
    }

    private func age(of time: WallTime) -> String {
        spanText(.nanoseconds(now.nanoseconds - time.nanoseconds))
    }
}
