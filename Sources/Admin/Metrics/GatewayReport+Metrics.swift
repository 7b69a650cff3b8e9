import Operations
import Queue
import System

extension GatewayReport {
    /// `/metrics`.
    var metrics: String { metricsPage.text }

    var metricsPage: MetricsPage {
        var page = MetricsPage()
        page.build()
        page.listeners(listeners)
        page.certificates(listeners, now: now)
        page.requests(answers)
        page.ingest(accepted, refused)
        page.deviceKeys(keys)
        page.addresses(addresses, most: addressesMax)
        page.strangers(unknownSenders)
        page.signedRequests(nonces: nonces)
        page.tokens(tokens)
        page.tokenKeys(tokenKeys, now: now)
        page.clocks(clocks)
        page.damage(damage)
        page.claims(claimsRemoved)
        page.queue(queue, now: now)
        page.ledgers(
            destinations.map { ($0.name, $0.queue.ledger) }
                + strangers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        )
        page.volumes(destinations)
        page.backlogs(destinations)
        page.delivery(destinations, now: now)
        page.logstores(destinations, now: now)
        page.credentials(credentials)
        page.webhook(webhook)
        page.family("sluice_ready", .gauge, "1 if traffic should be sent here.") {
            $0.add(reasonsAgainstTraffic.isEmpty)
        }
        page.family("sluice_draining", .gauge, "1 if an operator stopped the intake of logs.") {
            $0.add(isDraining)
        }
        page.changes(changes)
        page.process(.now, started: now, uptime: uptime)
        return page
    }
}

extension MetricsPage {
    fileprivate mutating func build() {
        family("sluice_build_info", .gauge, "The version that runs; always 1.") {
            $0.add(1, ["version": Version.current])
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
