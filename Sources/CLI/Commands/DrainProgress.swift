import JSON
import System

/// The progress of a draining gateway, from `/admin/drain`.
struct DrainProgress: Equatable {
    var isDraining = false
    /// Queued logs.
    var queued = 0
    /// Requests being stored.
    var arriving = 0
    /// Queued logs of paused destinations.
    var held = 0
    var dead = 0

    init?(_ body: [UInt8]) {
        var json = JSONReader(body)
        var isQueuedKnown = false
        guard json.take("{") else { return nil }
        repeat {
            guard let name = json.string(), json.take(":") else { return nil }
            switch name {
            case "draining":
                guard let word = json.literal(), word == "true" || word == "false" else {
                    return nil
                }
                isDraining = word == "true"
            case "queued":
                guard let count = json.wholeNumber() else { return nil }
                queued = count
                isQueuedKnown = true
            case "arriving":
                guard let count = json.wholeNumber() else { return nil }
                arriving = count
            case "held":
                guard let count = json.wholeNumber() else { return nil }
                held = count
            case "dead":
                guard let count = json.wholeNumber() else { return nil }
                dead = count
            default: guard json.skipValue() else { return nil }
            }
        } while json.take(",")
        guard json.take("}"), json.isAtEnd, isQueuedKnown else { return nil }
    }

    /// True when nothing is queued and no request is being stored.
    var isDone: Bool { queued == 0 && arriving == 0 }

    /// "draining: 3800 queued, 1200 of 5000 gone (24%), 20 of paused destinations, 1 dead letter"
    func line(since first: DrainProgress) -> String {
        var parts = ["\(queued) queued"]
        let gone = first.queued - queued
        if gone > 0 {
            parts.append("\(gone) of \(first.queued) gone (\(gone * 100 / first.queued)%)")
        }
        if arriving > 0 { parts.append("\(counted(arriving, "request")) being stored") }
        if held > 0 { parts.append("\(held) of paused destinations") }
        if dead > 0 { parts.append(counted(dead, "dead letter")) }
        return "draining: " + parts.joined(separator: ", ")
    }

    /// Why waiting cannot help, with the remedy; nil otherwise.
    var whatHolds: String? {
        guard held > 0, held == queued else { return nil }
        return "only logs of paused destinations are left; deliver them with: sluice resume --all"
    }
}
