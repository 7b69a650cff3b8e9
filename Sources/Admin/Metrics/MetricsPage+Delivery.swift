import Delivery
import JSON
import Operations
import Queue
import System

extension MetricsPage {
    mutating func delivery(_ destinations: [GatewayReport.Destination], now: WallTime) {
        let gauges: KeyValuePairs<String, (String, KeyPath<DestinationStatus, Int>)> = [
            "sluice_delivery_in_flight": ("Requests in flight to the destination.", \.inFlight),
            "sluice_delivery_limit": ("Requests that may be in flight.", \.limit),
            "sluice_delivery_leased_packets": (
                "Packets that delivery holds, those in flight included.", \.leased
            ),
            "sluice_delivery_waiting_for_retry": (
                "Packets that wait to be tried again.", \.waitingRetry
            ),
            "sluice_delivery_memory_bytes": (
                "Bytes in memory of waiting packets and of bodies in flight.", \.memoryBytes
            ),
            "sluice_delivery_awaiting_clock": (
                "Lone logs that wait until the host's clock is set.", \.awaitingClock
            ),
        ]
        for (name, (help, path)) in gauges {
            family(name, .gauge, help) { $0.add(destinations, path) }
        }
        let counters: KeyValuePairs<String, (String, KeyPath<DestinationStatus, Int>)> = [
            "sluice_delivery_packets_total": ("Packets stored at the destination.", \.sentPackets),
            "sluice_delivery_logs_total": ("Logs in packets stored there.", \.sentLogs),
            "sluice_delivery_raw_bytes_total": (
                "Bytes of delivered logs, before compression.", \.sentRawBytes
            ),
            "sluice_delivery_wire_bytes_total": (
                "Bytes of delivered packets, as they were sent.", \.sentWireBytes
            ),
            "sluice_delivery_isolated_packets_total": (
                "Packets given back because SLS refuses a log in them.", \.isolated.packets
            ),
            "sluice_delivery_discarded_packets_total": (
                "Packets dropped for lack of a permission, with drop_unauthorized.",
                \.discarded.packets
            ),
            "sluice_delivery_relaned_packets_total": (
                "Packets that needed another lane.", \.relaned
            ),
            "sluice_delivery_unreadable_packets_total": (
                "Packets that the queue could not read.", \.voided.packets
            ),
            "sluice_delivery_unknown_outcomes_total": (
                "Requests whose packet may be stored though no answer said so.", \.unknownOutcomes
            ),
            "sluice_delivery_stored_before_total": (
                "Packets that an earlier request had stored.", \.storedBefore
            ),
            "sluice_delivery_resigned_total": (
                "Requests signed again with SLS's time.", \.resigned
            ),
            "sluice_delivery_memory_waits_total": (
                "Times that a request began to wait for room in memory.", \.memoryWaits
            ),
            "sluice_delivery_retries_total": (
                "Requests with packets that had failed before.", \.retries
            ),
        ]
        for (name, (help, path)) in counters {
            family(name, .counter, help) { $0.add(destinations, path) }
        }
        failures(destinations)
        states(destinations)
        answers(destinations)
        family("sluice_queue_oldest_seconds", .gauge, "Age of the oldest log in the queue.") {
            for each in destinations {
                let age = each.queue.oldest.map { now - $0 }
                $0.add(seconds: age ?? .zero, ["destination": each.name])
            }
        }
    }

    private mutating func failures(_ destinations: [GatewayReport.Destination]) {
        family("sluice_delivery_failures_total", .counter, "Attempts that failed, by kind.") {
            for each in destinations {
                for kind in DeliveryFailure.Kind.allCases {
                    $0.add(
                        each.delivery.failures[kind] ?? 0,
                        ["destination": each.name, "kind": kind.rawValue]
                    )
                }
            }
        }
        family(
            "sluice_delivery_results_total",
            .counter,
            "Attempts that failed, by the result of SLS SDKs."
        ) {
            for each in destinations {
                for result in ProducerResult.allCases where each.delivery.results[result] != nil {
                    $0.add(
                        each.delivery.results[result] ?? 0,
                        ["destination": each.name, "result": result.name]
                    )
                }
            }
        }
    }

    private mutating func states(_ destinations: [GatewayReport.Destination]) {
        family("sluice_delivery_state", .gauge, "1 for the destination's present state.") {
            for each in destinations {
                for state in DestinationStatus.stateNames {
                    $0.add(
                        each.delivery.stateName == state,
                        ["destination": each.name, "state": state]
                    )
                }
            }
        }
        family(
            "sluice_delivery_endpoint_fallback",
            .gauge,
            "1 if another endpoint than the first is in use."
        ) {
            for each in destinations {
                $0.add(
                    each.delivery.endpoint != each.delivery.endpoints.first,
                    ["destination": each.name]
                )
            }
        }
        family(
            "sluice_delivery_clock_offset_seconds",
            .gauge,
            "SLS's clock minus the host's, as requests are signed."
        ) {
            for each in destinations {
                $0.add(decimal: each.delivery.clockOffset.inSeconds, ["destination": each.name])
            }
        }
        family("sluice_delivery_failing", .gauge, "1 if something keeps logs from arriving.") {
            for each in destinations {
                $0.add(each.delivery.trouble != nil, ["destination": each.name])
            }
        }
        family(
            "sluice_delivery_rate",
            .gauge,
            "Requests a second, while the project's quota paces them."
        ) {
            for each in destinations {
                if let rate = each.delivery.rate {
                    $0.add(decimal: rate, ["destination": each.name])
                }
            }
        }
    }
}

extension MetricsPage.Samples {
    fileprivate mutating func add(
        _ destinations: [GatewayReport.Destination],
        _ path: KeyPath<DestinationStatus, Int>
    ) {
        for each in destinations {
            add(each.delivery[keyPath: path], ["destination": each.name])
        }
    }
}
