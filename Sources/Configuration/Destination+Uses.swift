package import JSON
import Queue
import Resolvers
import SLS
import System

// A destination in the words of the rooms that use it.
extension Destination {
    /// What SLS takes in one request, before compression.
    static let requestBytesMax = 10 << 20

    /// Topic, source, tags and pack id of a packet: those of devices have a bound of 8 KiB.
    private var endingBytesMax: Int {
        labels.tags.reduce(32 << 10) { $0 + $1.key.utf8.count + $1.value.utf8.count + 16 }
    }

    /// The logs of a packet: what ends it is in SLS's limit, too.
    var packetLimits: PacketLimits {
        var limits = transfer.packet
        limits.rawBytes = max(1, min(limits.rawBytes, Self.requestBytesMax - endingBytesMax))
        return limits
    }

    var queueRules: DestinationRules {
        var rules = backlog
        rules.packet = packetLimits
        if case .named(let name) = logstore { rules.logstore = name }
        rules.lanes = transfer.lanes
        rules.lateLogs = intake.lateLogs.policy
        return rules
    }

    /// What an operator chose here that changes what happens to logs, in words.
    var particulars: [String] {
        var lines: [String] = []
        if transfer.lanes > 0 {
            lines.append("each log exactly once, \(transfer.lanes) lanes for a logstore")
        }
        if !isRequired { lines.append("skipped by requests while it has no room") }
        if let times = transfer.retry.times {
            lines.append("rests after \(times) tries for \(durationText(transfer.retry.longest))")
        }
        if let proxy = transfer.transport.proxy { lines.append("through the proxy \(proxy)") }
        let rules = transfer.transport.resolvers
        if !rules.isEmpty {
            let general = NameSettings.orSystem(rules.general)
            let named = rules.byHost.sorted { $0.key < $1.key }.map { ("of \($0) ", $1) }
            let lists = (named + [("", general)]).map {
                $0 + "from " + $1.joined(separator: ", else ")
            }
            lines.append("addresses \(lists.joined(separator: "; "))")
        }
        if transfer.dropsUnauthorized {
            lines.append("logs that SLS refuses for lack of rights are dropped and counted")
        }
        switch intake.lateLogs {
        case .keep, .rewrite: break
        case .drop: lines.append("logs too old for SLS are dropped and counted")
        case .deadLetter: lines.append("logs too old for SLS become dead letters")
        }
        if intake.oversize == .deadLetter { lines.append("oversized logs become dead letters") }
        switch intake.foldTags {
        case .none: break
        case .all: lines.append("devices' tags become fields of their logs")
        case .named(let names):
            lines.append(
                "devices' tags \(names.joined(separator: ", ")) become fields of their logs"
            )
        }
        if intake.keepsPackID { lines.append("devices' pack ids are kept") }
        if !intake.stamps.isEmpty {
            let stamps = intake.stamps.labels.map { "\($0.fact.rawValue) as \($0.written)" }
            lines.append("logs are stamped with \(stamps.joined(separator: ", "))")
        }
        var bounds = [
            backlog.bytesMax.map { "up to \(sizeText($0))" },
            backlog.ageMax.map { "for \(durationText($0))" },
        ].compactMap(\.self)
        if backlog.overflow == .dropOldest { bounds.append("the oldest dropped when full") }
        if backlog.freshPercent > 0 {
            bounds.append("\(backlog.freshPercent)% for fresh logs")
        }
        if !bounds.isEmpty { lines.append("queued " + bounds.joined(separator: ", ")) }
        return lines
    }
}

extension Destination.Intake.LateLogs {
    /// For logs that grow too old in the queue, which SLS alone refuses.
    fileprivate var policy: LatePolicy {
        switch self {
        case .keep, .rewrite: .rewrite
        case .drop: .drop
        case .deadLetter: .deadLetter
        }
    }
}

extension JSONWriter {
    /// The settings of a destination, as the configuration file has them.
    package mutating func settings(_ destination: Destination) {
        member("name", destination.name)
        for each in destination.shown where destination.kind.has(each.key) {
            member(each.key, each.value)
        }
    }
}
