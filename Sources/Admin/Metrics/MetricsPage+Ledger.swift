import Operations
import Queue

extension MetricsPage {
    /// Where the logs are. What is counted in logs is counted for ever, also of destinations that are gone from
    /// the configuration.
    mutating func ledgers(_ ledgers: [(name: String, ledger: Ledger)]) {
        let accounts: KeyValuePairs<String, (String, KeyPath<Ledger, Int64>)> = [
            "sluice_logs_accepted_total": ("Logs accepted since the queue exists.", \.accepted),
            "sluice_logs_delivered_total": ("Logs stored at the destination.", \.delivered),
            "sluice_logs_expired_total": (
                "Logs that waited or lay dead too long, or made room for others.", \.expired
            ),
            "sluice_logs_discarded_total": (
                "Logs dropped by an operator or a setting.", \.discarded
            ),
        ]
        for (name, (help, path)) in accounts {
            family(name, .counter, help) {
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

    /// The same since the start, in bytes of logs before compression.
    mutating func volumes(_ destinations: [GatewayReport.Destination]) {
        let volumes: KeyValuePairs<String, (String, KeyPath<Volumes, Int>)> = [
            "sluice_accepted_bytes_total": (
                "Bytes of accepted logs, before compression.", \.accepted
            ),
            "sluice_delivered_bytes_total": (
                "Bytes of logs stored at the destination, before compression.", \.delivered
            ),
            "sluice_dead_bytes_total": (
                "Bytes of logs that became dead letters, before compression.", \.dead
            ),
            "sluice_expired_bytes_total": ("Bytes of expired logs, before compression.", \.expired),
            "sluice_discarded_bytes_total": (
                "Bytes of discarded logs, without those dropped as they came.", \.discarded
            ),
            "sluice_logs_died_total": ("Logs that became dead letters since the start.", \.died),
        ]
        for (name, (help, path)) in volumes {
            family(name, .counter, help) {
                for each in destinations {
                    $0.add(each.queue.volumes[keyPath: path], ["destination": each.name])
                }
            }
        }
    }
}
