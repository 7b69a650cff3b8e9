import System

extension Sandbox {
    /// The statistics as JSON.
    func stats() -> Answer {
        let (statistics, size) = state.withLock { ($0.statistics, $0.archive.size) }
        var object = JSONObject()
        object.add("since", statistics.since.rfc3339)
        object.add("requests", statistics.requests)
        object.add("wire_bytes", statistics.wireBytes)
        object.add("answers", statistics.statuses.sorted { $0.key < $1.key }.map { ("\($0)", $1) })
        object.add("errors", statistics.errors.sorted { $0.key < $1.key }.map { ($0, $1) })
        object.add("faults", statistics.mishaps.sorted { $0.key < $1.key }.map { ($0, $1) })
        object.add("stored", Self.counts(statistics.stored))
        object.add("duplicates", Self.counts(statistics.duplicates))
        object.add("dropped", Self.counts(statistics.dropped))
        object.add(
            "kept",
            [("requests", size.requests), ("logs", size.logs), ("bytes", size.bytes)]
        )
        let places = statistics.places.sorted {
            ($0.key.project, $0.key.logstore) < ($1.key.project, $1.key.logstore)
        }
        object.add(
            "logstores",
            places.map { place, total in
                var object = JSONObject()
                object.add("project", place.project)
                object.add("logstore", place.logstore)
                for (name, count) in Self.counts(total) { object.add(name, count) }
                return object
            }
        )
        return .json(object.finished)
    }

    private static func counts(_ total: Statistics.Total) -> [(String, Int)] {
        [("requests", total.requests), ("logs", total.logs), ("bytes", total.bytes)]
    }
}
