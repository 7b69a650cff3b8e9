import HTTP
import Queue
import System

extension GatewayReport {
    /// `/metrics`.
    var metrics: String {
        var page = MetricsPage()
        page.build()
        page.listeners(listeners)
        page.ingest(accepted, refused)
        page.clocks(clocks)
        page.queue(queue, now: now)
        page.ledgers(
            destinations.map { ($0.name, $0.queue.ledger) }
                + strangers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        )
        page.backlogs(destinations)
        page.delivery(destinations, now: now)
        page.logstores(destinations, now: now)
        page.credentials(credentials)
        page.family("sluice_ready", .gauge, "Whether traffic should be sent here.") {
            $0.add(reasonsAgainstTraffic.isEmpty)
        }
        page.process(process, started: now, uptime: uptime)
        return page.text
    }
}

extension MetricsPage {
    fileprivate mutating func build() {
        family("sluice_build_info", .gauge, "The version that runs; always 1.") {
            $0.add(1, ["version": Version.current])
        }
    }

    fileprivate mutating func ingest(
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
            "Requests that were stored before, and answered as the first time."
        ) {
            for (route, counts) in accepted { $0.add(counts.repeated, ["route": route]) }
        }
        family("sluice_ingest_refused_total", .counter, "Requests that were refused, by reason.") {
            for (kind, count) in refused {
                $0.add(
                    count,
                    ["route": kind.route, "status": "\(kind.status)", "code": kind.code]
                )
            }
        }
    }

    fileprivate mutating func clocks(_ clocks: IngestCounters.Clocks) {
        family(
            "sluice_ingest_clock_corrected_total",
            .counter,
            "Requests of which times were corrected by the skew of their device's clock."
        ) { $0.add(clocks.corrected) }
        family(
            "sluice_ingest_clock_unusable_total",
            .counter,
            "Requests whose x-log-client-time cannot be read, or is years away."
        ) { $0.add(clocks.unusable) }
    }

    fileprivate mutating func ledgers(_ ledgers: [(name: String, ledger: Ledger)]) {
        let accounts: KeyValuePairs<String, (String, KeyPath<Ledger, Int64>)> = [
            "accepted": ("Logs accepted since the queue exists.", \.accepted),
            "delivered": ("Logs stored at the destination.", \.delivered),
            "expired": (
                "Logs that waited or lay dead too long, or made room for others.", \.expired
            ),
            "discarded": (
                "Logs that an operator, or what one configured, threw away.", \.discarded
            ),
        ]
        for (account, (help, path)) in accounts {
            family("sluice_logs_\(account)_total", .counter, help) {
                for (name, ledger) in ledgers {
                    $0.add(ledger[keyPath: path], ["destination": name])
                }
            }
        }
        family("sluice_logs_queued", .gauge, "Logs that wait for delivery.") {
            for (name, ledger) in ledgers { $0.add(ledger.queued, ["destination": name]) }
        }
        family("sluice_logs_dead", .gauge, "Logs that cannot be delivered as they are.") {
            for (name, ledger) in ledgers { $0.add(ledger.dead, ["destination": name]) }
        }
    }

    fileprivate mutating func process(
        _ process: ProcessFigures,
        started now: WallTime,
        uptime: Duration
    ) {
        // The names that every Prometheus client library uses.
        family("process_resident_memory_bytes", .gauge, "Memory in use.") {
            $0.add(process.residentBytes)
        }
        family("process_virtual_memory_bytes", .gauge, "Address space in use.") {
            $0.add(process.virtualBytes)
        }
        family("process_cpu_seconds_total", .counter, "Processor time, user and system.") {
            $0.add(seconds: process.cpu)
        }
        family("process_open_fds", .gauge, "Open descriptors.") { $0.add(process.openDescriptors) }
        family("process_max_fds", .gauge, "Descriptors that may be open.") {
            $0.add(process.descriptorsMax)
        }
        family("process_threads", .gauge, "Threads.") { $0.add(process.threads) }
        family("process_start_time_seconds", .gauge, "When the process started.") {
            $0.add(seconds: .nanoseconds(now.nanoseconds) - uptime)
        }
    }
}
