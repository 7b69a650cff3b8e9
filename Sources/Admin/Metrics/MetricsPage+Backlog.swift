import Operations
import Queue

extension MetricsPage {
    /// What waits for each destination.
    mutating func backlogs(_ destinations: [GatewayReport.Destination]) {
        family(
            "sluice_destination_admission",
            .gauge,
            "1 for the destination's present answer to new batches."
        ) {
            for each in destinations {
                for admission in QueueAdmission.all {
                    $0.add(
                        each.queue.admission == admission,
                        ["destination": each.name, "state": admission.name]
                    )
                }
            }
        }
        let gauges: KeyValuePairs<String, (String, KeyPath<QueueStatus.Destination, Int>)> = [
            "sluice_destination_bytes": (
                "Queued for a destination, with the rows' own cost.", \.bytes
            ),
            "sluice_destination_packets": ("Packets sealed and not yet delivered.", \.packets),
            "sluice_destination_lanes": (
                "Lanes of each logstore; 0 delivers at least once.", \.lanes
            ),
            "sluice_destination_logstores": ("Logstores that have logs in the queue.", \.logstores),
            "sluice_destination_max_logstores": (
                "Logstores that may have logs; batches for others are refused.", \.logstoresMax
            ),
        ]
        for (name, (help, path)) in gauges {
            family(name, .gauge, help) {
                for each in destinations {
                    $0.add(each.queue[keyPath: path], ["destination": each.name])
                }
            }
        }
        family(
            "sluice_destination_max_bytes",
            .gauge,
            "Bytes beyond which a destination's batches are refused, if it has a bound."
        ) {
            for each in destinations {
                if let bytes = each.queue.bytesMax { $0.add(bytes, ["destination": each.name]) }
            }
        }
        family(
            "sluice_logs_dropped_total",
            .counter,
            "Logs that made room for others since the start; they are among the expired."
        ) {
            for each in destinations { $0.add(each.queue.dropped, ["destination": each.name]) }
        }
        family(
            "sluice_destination_dead_bytes",
            .gauge,
            "Dead letters among a destination's bytes."
        ) {
            for each in destinations { $0.add(each.queue.deadBytes, ["destination": each.name]) }
        }
        family(
            "sluice_logs_refused_total",
            .counter,
            "Logs of refused packets that were dropped as configured; they are among the discarded."
        ) {
            for each in destinations { $0.add(each.queue.refusedLogs, ["destination": each.name]) }
        }
        family(
            "sluice_ledger_imbalance_logs",
            .gauge,
            "Logs by which the ledger is off; 0 is right."
        ) {
            for each in destinations { $0.add(each.queue.imbalance, ["destination": each.name]) }
        }
    }
}
