import Ingest
import System

extension MetricsPage {
    /// What devices sent.
    mutating func ingest(
        _ accepted: [(route: String, counts: IngestCounters.Accepted)],
        _ refused: [(kind: IngestCounters.RefusalKind, count: Int)]
    ) {
        family("sluice_ingest_requests_total", .counter, "Requests whose logs were stored.") {
            for (route, counts) in accepted { $0.add(counts.requests, ["route": route]) }
        }
        family("sluice_ingest_logs_total", .counter, "Logs that were stored.") {
            for (route, counts) in accepted { $0.add(counts.logs, ["route": route]) }
        }
        family("sluice_ingest_body_bytes_total", .counter, "Bodies of stored logs, inflated.") {
            for (route, counts) in accepted { $0.add(counts.bodyBytes, ["route": route]) }
        }
        family(
            "sluice_ingest_repeated_total",
            .counter,
            "Repeated requests, which got the first answer."
        ) {
            for (route, counts) in accepted { $0.add(counts.repeated, ["route": route]) }
        }
        acknowledgements(accepted)
        family("sluice_ingest_refused_total", .counter, "Requests that were refused, by reason.") {
            for (kind, count) in refused {
                $0.add(
                    count,
                    ["route": kind.route, "status": "\(kind.status)", "code": kind.code]
                )
            }
        }
    }

    private mutating func acknowledgements(
        _ accepted: [(route: String, counts: IngestCounters.Accepted)]
    ) {
        family(
            "sluice_ingest_ack_seconds",
            .histogram,
            "From a complete request until its logs are on disk and its 2xx is sent."
        ) {
            for (route, counts) in accepted {
                let times = counts.acknowledgements
                $0.add(
                    bounds: DurationCounter.bounds,
                    counts: times.buckets,
                    sum: times.sum,
                    ("route", route)
                )
            }
        }
    }

    mutating func damage(_ damage: IngestCounters.Damage) {
        family(
            "sluice_ingest_repaired_requests_total",
            .counter,
            "Requests whose JSON could be read only after damaged parts of it were replaced."
        ) { $0.add(damage.repairedRequests) }
        family(
            "sluice_ingest_repaired_logs_total",
            .counter,
            "Logs with bytes that are not UTF-8, which became U+FFFD."
        ) { $0.add(damage.repairedLogs) }
        family(
            "sluice_ingest_unreadable_logs_total",
            .counter,
            "Texts that cannot be read as logs, and became dead letters beside the others of their request."
        ) { $0.add(damage.unreadableLogs) }
    }

    mutating func claims(_ removed: Int) {
        family(
            "sluice_ingest_claims_removed_total",
            .counter,
            "Fields and tags of devices that were removed because a stamp has their name."
        ) { $0.add(removed) }
    }

    mutating func clocks(_ clocks: IngestCounters.Clocks) {
        family(
            "sluice_ingest_clock_corrected_total",
            .counter,
            "Requests whose times were corrected by the skew of their device's clock."
        ) { $0.add(clocks.corrected) }
        family(
            "sluice_ingest_clock_unusable_total",
            .counter,
            "Requests whose x-log-client-time cannot be read, or is years away."
        ) { $0.add(clocks.unusable) }
    }
}
