import JSON
import System

/// Counts since the start, or since the logs were cleared.
struct Statistics: Sendable {
    struct Place: Hashable, Sendable {
        let project: String
        let logstore: String
    }

    /// Names beyond this number are counted together, because every valid name exists.
    private static let namesMax = 1000
    private static let others = "(others)"

    let since: WallTime
    var requests = 0
    var wireBytes = 0
    private(set) var statuses: [Int: Int] = [:]
    private(set) var errors: [String: Int] = [:]
    private(set) var mishaps: [String: Int] = [:]
    /// Requests to the look-alikes of resolvers.
    private(set) var resolved: [String: Int] = [:]
    private(set) var stored = LogTally()
    private(set) var duplicates = LogTally()
    private(set) var dropped = LogTally()
    private(set) var places: [Place: LogTally] = [:]

    mutating func countAnswer(_ status: Int, error: String?) {
        statuses[status, default: 0] += 1
        if let error { Self.count(error, in: &errors) }
    }

    mutating func countMishap(_ name: String) { Self.count(name, in: &mishaps) }

    mutating func countResolved(_ service: String) { resolved[service, default: 0] += 1 }

    mutating func countStored(
        _ logs: ReceivedLogs,
        at address: LogArchive.Address,
        _ receipt: LogArchive.Receipt
    ) {
        let added = LogTally(requests: 1, logs: logs.entries.count, bytes: logs.rawBytes)
        stored += added
        if receipt.isDuplicate { duplicates += added }
        dropped += receipt.dropped
        var place = Place(project: address.project, logstore: address.logstore)
        if places[place] == nil, places.count >= Self.namesMax {
            place = Place(project: Self.others, logstore: Self.others)
        }
        places[place, default: LogTally()] += added
    }

    private static func count(_ name: String, in counts: inout [String: Int]) {
        let isKnown = counts[name] != nil || counts.count < namesMax
        counts[isKnown ? name : others, default: 0] += 1
    }
}

extension Sandbox {
    func stats() -> Answer {
        let (statistics, size) = state.withLock { ($0.statistics, $0.archive.size) }
        let places = statistics.places.sorted {
            ($0.key.project, $0.key.logstore) < ($1.key.project, $1.key.logstore)
        }
        return .json { json in
            json.member("since", statistics.since.rfc3339)
            json.member("requests", statistics.requests)
            json.member("wire_bytes", statistics.wireBytes)
            json.object("answers") { $0.counts(statistics.statuses) }
            json.object("errors") { $0.counts(statistics.errors) }
            json.object("faults") { $0.counts(statistics.mishaps) }
            json.object("resolved") { $0.counts(statistics.resolved) }
            json.object("stored") { $0.total(statistics.stored) }
            json.object("duplicates") { $0.total(statistics.duplicates) }
            json.object("dropped") { $0.total(statistics.dropped) }
            json.object("kept") { $0.total(size) }
            json.objects("logstores", places) { json, each in
                let (place, total) = each
                json.member("project", place.project)
                json.member("logstore", place.logstore)
                json.total(total)
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func counts(_ counts: [some Comparable & Hashable: Int]) {
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) { member("\(name)", count) }
    }

    fileprivate mutating func total(_ total: LogTally) {
        member("requests", total.requests)
        member("logs", total.logs)
        member("bytes", total.bytes)
    }
}
