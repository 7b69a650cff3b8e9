import JSON
import System

extension Sandbox {
    /// The statistics as JSON.
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
            json.object("kept") { json in
                json.member("requests", size.requests)
                json.member("logs", size.logs)
                json.member("bytes", size.bytes)
            }
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

    fileprivate mutating func total(_ total: Statistics.Total) {
        member("requests", total.requests)
        member("logs", total.logs)
        member("bytes", total.bytes)
    }
}
