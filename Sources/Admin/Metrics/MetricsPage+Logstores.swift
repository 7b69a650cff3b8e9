import Delivery
import Operations
import Queue
import System

/// A logstore and its destination.
private typealias Place = (labels: KeyValuePairs<String, String>, outlet: GatewayReport.Outlet)

extension MetricsPage {
    /// What waits and goes by logstore. They are as many as `logstores_max` of the destinations allows.
    mutating func logstores(_ destinations: [GatewayReport.Destination], now: WallTime) {
        let places: [Place] = destinations.flatMap { destination in
            destination.outlets.map {
                (["destination": destination.name, "logstore": $0.logstore], $0)
            }
        }
        family("sluice_logstore_queued_logs", .gauge, "Logs of a logstore in the queue.") {
            for place in places { $0.add(place.outlet.queue.queued, place.labels) }
        }
        family("sluice_logstore_lanes_in_use", .gauge, "Packets of a logstore that have a lane.") {
            for place in places { $0.add(place.outlet.queue.lanesInUse, place.labels) }
        }
        family(
            "sluice_logstore_oldest_seconds",
            .gauge,
            "Age of a logstore's oldest log in the queue."
        ) {
            for place in places {
                let age = place.outlet.queue.oldest.map { now - $0 }
                $0.add(seconds: age ?? .zero, place.labels)
            }
        }
        let gauges: KeyValuePairs<String, (String, KeyPath<OutletStatus, Int>)> = [
            "sluice_logstore_in_flight": ("Requests in flight to a logstore.", \.inFlight),
            "sluice_logstore_limit": ("Requests that may be in flight.", \.limit),
            "sluice_logstore_waiting_packets": ("Packets that are not in flight.", \.waiting),
        ]
        for (name, (help, path)) in gauges {
            family(name, .gauge, help) { $0.add(places, path) }
        }
        let counters: KeyValuePairs<String, (String, KeyPath<OutletStatus, Int>)> = [
            "sluice_logstore_packets_total": ("Packets stored in a logstore.", \.sentPackets),
            "sluice_logstore_logs_total": ("Logs in packets stored there.", \.sentLogs),
        ]
        for (name, (help, path)) in counters {
            family(name, .counter, help) { $0.add(places, path) }
        }
        family("sluice_logstore_failures_total", .counter, "Attempts that failed, by kind.") {
            for place in places {
                for kind in DeliveryFailure.Kind.allCases {
                    guard let count = place.outlet.delivery?.failures[kind] else { continue }
                    $0.add(
                        count,
                        [
                            "destination": place.labels[0].value,
                            "logstore": place.labels[1].value, "kind": kind.rawValue,
                        ]
                    )
                }
            }
        }
        family("sluice_logstore_paused", .gauge, "1 if only single probes go to a logstore.") {
            for place in places {
                guard let delivery = place.outlet.delivery else { continue }
                $0.add(delivery.standstill != nil, place.labels)
            }
        }
        family("sluice_logstore_rate", .gauge, "Requests a second, while a quota paces them.") {
            for place in places {
                if let rate = place.outlet.delivery?.rate { $0.add(decimal: rate, place.labels) }
            }
        }
    }
}

extension MetricsPage.Samples {
    fileprivate mutating func add(_ places: [Place], _ path: KeyPath<OutletStatus, Int>) {
        for place in places {
            if let delivery = place.outlet.delivery {
                add(delivery[keyPath: path], place.labels)
            }
        }
    }
}
