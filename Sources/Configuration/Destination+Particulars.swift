import Delivery
import Queue
import System

extension Destination {
    /// What an operator chose here that changes what happens to logs, in words.
    var particulars: [String] {
        var lines: [String] = []
        if transfer.lanes > 0 {
            lines.append("each log exactly once, \(transfer.lanes) lanes for a logstore")
        }
        if let proxy = transfer.proxy { lines.append("through the proxy \(proxy)") }
        if transfer.dropsUnauthorized {
            lines.append("logs that SLS refuses for lack of rights are dropped and counted")
        }
        switch intake.lateLogs {
        case .rewrite: break
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
