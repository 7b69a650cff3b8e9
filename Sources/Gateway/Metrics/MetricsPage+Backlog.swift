import Queue
import System

extension MetricsPage {
    /// What waits for each destination. Logstores are as many as the destinations' bounds allow.
    mutating func backlogs(_ destinations: [GatewayReport.Destination], now: WallTime) {
        family("sluice_destination_admission", .gauge, "1 for what is said to new batches.") {
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
            "sluice_destination_bytes": ("Queued, with the rows' own cost.", \.bytes),
            "sluice_destination_packets": ("Packets sealed and not yet delivered.", \.packets),
            "sluice_destination_logstores": ("Logstores that have logs in the queue.", \.logstores),
            "sluice_destination_max_logstores": (
                "Where batches for others are refused.", \.logstoresMax
            ),
        ]
        for (name, (help, path)) in gauges {
            family(name, .gauge, help) {
                for each in destinations {
                    $0.add(each.queue[keyPath: path], ["destination": each.name])
                }
            }
        }
        family("sluice_destination_max_bytes", .gauge, "Its bound, where it has one of its own.") {
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
        family("sluice_logstore_queued_logs", .gauge, "Logs of a logstore in the queue.") {
            for each in destinations {
                for (logstore, outlet) in each.outlets {
                    $0.add(outlet.queued, ["destination": each.name, "logstore": logstore])
                }
            }
        }
        family("sluice_logstore_oldest_seconds", .gauge, "Age of the oldest of them.") {
            for each in destinations {
                for (logstore, outlet) in each.outlets {
                    $0.add(
                        seconds: outlet.oldest.map { now - $0 } ?? .zero,
                        ["destination": each.name, "logstore": logstore]
                    )
                }
            }
        }
    }
}

extension GatewayReport.Destination {
    /// Those in the queue, by name.
    fileprivate var outlets: [(key: String, value: QueueStatus.Outlet)] {
        queue.outlets.sorted { $0.key < $1.key }
    }
}
