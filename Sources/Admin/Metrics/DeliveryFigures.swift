import Delivery
import JSON
import Operations
import Queue
import System

/// Figures of what goes to SLS: by destination and by logstore.
enum DeliveryFigures {
    static let parts: [any FigurePart] = [
        destinations, ages, logstores, logstoreDelivery,
    ]

    static let destinations = FigureGroup<DestinationStatus>(
        .delivery,
        by: ["destination"],
        { $0.destinations.map { ([$0.name], $0.delivery) } },
        present + counted + outcomes
    )

    private static let present: [Figure<DestinationStatus>] = [
        Figure(
            "sluice_delivery_in_flight",
            \.inFlight,
            "Requests in flight to the destination.",
            member: "in_flight"
        ),
        Figure(
            "sluice_delivery_limit",
            \.limit,
            "Requests that may be in flight to the destination.",
            member: "limit"
        ),
        Figure(
            "sluice_delivery_leased_packets",
            \.leased,
            "Packets that delivery holds, those in flight included.",
            member: "leased_packets"
        ),
        Figure(
            "sluice_delivery_waiting_for_retry",
            \.waitingRetry,
            "Packets that wait to be tried again.",
            member: "waiting_for_retry"
        ),
        Figure(
            "sluice_delivery_memory_bytes",
            \.memoryBytes,
            "Bytes in memory of waiting packets and of bodies in flight."
        ),
        Figure(
            "sluice_delivery_awaiting_clock",
            \.awaitingClock,
            "Lone logs that wait until the host's clock is set.",
            member: "awaiting_clock"
        ),
    ]

    private static let counted: [Figure<DestinationStatus>] = [
        Figure(
            "sluice_delivery_packets_total",
            \.sentPackets,
            "Packets stored at the destination.",
            member: "sent_packets"
        ),
        Figure(
            "sluice_delivery_logs_total",
            \.sentLogs,
            "Logs in packets stored at the destination.",
            member: "sent_logs"
        ),
        Figure(
            "sluice_delivery_raw_bytes_total",
            \.sentRawBytes,
            "Bytes of delivered logs, before compression."
        ),
        Figure(
            "sluice_delivery_wire_bytes_total",
            \.sentWireBytes,
            "Bytes of delivered packets, as they were sent."
        ),
        Figure(
            "sluice_delivery_isolated_packets_total",
            \.isolated.packets,
            "Packets returned to the queue because SLS refuses one of their logs.",
            member: "isolated_packets"
        ),
        Figure(
            "sluice_delivery_discarded_packets_total",
            \.discarded.packets,
            "Packets dropped for lack of a permission, with drop_unauthorized.",
            member: "discarded_packets"
        ),
        Figure(
            "sluice_delivery_relaned_packets_total",
            \.relaned,
            "Packets that needed another lane.",
            member: "relaned_packets"
        ),
        Figure(
            "sluice_delivery_unreadable_packets_total",
            \.voided.packets,
            "Packets that the queue could not read.",
            member: "unreadable_packets"
        ),
        Figure(
            "sluice_delivery_unknown_outcomes_total",
            \.unknownOutcomes,
            "Requests without a clear answer, whose packet may be stored.",
            member: "unknown_outcomes"
        ),
        Figure(
            "sluice_delivery_stored_before_total",
            \.storedBefore,
            "Packets that an earlier request had stored.",
            member: "stored_before"
        ),
        Figure(
            "sluice_delivery_resigned_total",
            \.resigned,
            "Requests signed again with SLS's time.",
            member: "resigned_requests"
        ),
        Figure(
            "sluice_delivery_memory_waits_total",
            \.memoryWaits,
            "Times that a request began to wait for room in memory."
        ),
        Figure(
            "sluice_delivery_retries_total",
            \.retries,
            "Requests with packets that had failed before."
        ),
        Figure("sluice_delivery_failures_total", by: "kind", "Attempts that failed, by kind.") {
            delivery in
            DeliveryFailure.Kind.allCases.map { ($0.rawValue, delivery.failures[$0] ?? 0) }
        },
        Figure(
            "sluice_delivery_results_total",
            by: "result",
            "Attempts that failed, by the result that SLS's SDKs would report."
        ) { delivery in
            ProducerResult.allCases.compactMap { result in
                delivery.results[result].map { (result.name, $0) }
            }
        },
    ]

    private static let outcomes: [Figure<DestinationStatus>] = [
        Figure("sluice_delivery_state", by: "state", "1 for the destination's present state.") {
            let present = $0.stateName
            return DestinationStatus.stateNames.map { ($0, $0 == present) }
        },
        Figure(
            "sluice_delivery_endpoint_fallback",
            "1 if an endpoint other than the first is in use."
        ) { delivery, _ in delivery.endpoint != delivery.endpoints.first },
        Figure(
            "sluice_delivery_clock_offset_seconds",
            \.clockOffset.inSeconds,
            "SLS's clock minus the host's, as requests are signed.",
            member: "clock_offset_seconds"
        ),
        Figure("sluice_delivery_failing", "1 while a problem keeps logs from being delivered.") {
            delivery,
            _ in delivery.trouble != nil
        },
        Figure(
            "sluice_delivery_rate",
            "Requests a second, while the project's quota paces them.",
            member: "rate"
        ) { delivery, _ in delivery.rate },
        Figure(
            "sluice_delivery_answers_total",
            by: "code",
            "Answers by SLS's code: OK, a known code, other, or not_sls for other servers."
        ) {
            $0.answers.merging(["OK": 0]) { count, _ in count }
                .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        },
        Figure(
            "sluice_delivery_pauses_total",
            by: "reason",
            "Pauses of the destination or a part of it, by reason."
        ) { delivery in PauseReason.all.map { ($0.name, delivery.pauses[$0] ?? 0) } },
        Figure(
            "sluice_delivery_seconds",
            "Duration of requests that SLS answered.",
            histogram: { FigureHistogram($0.latency) }
        ),
        Figure(
            "sluice_delivery_wait_seconds",
            "Time from the acceptance of a packet's oldest log until SLS stored the packet.",
            histogram: { FigureHistogram($0.waits) }
        ),
    ]

    private static let ages = FigureGroup<QueueStatus.Destination>(
        .queue,
        by: ["destination"],
        { $0.destinations.map { ([$0.name], $0.queue) } },
        [
            Figure("sluice_queue_oldest_seconds", "Age of the oldest log in the queue.") {
                destination,
                now in destination.oldest.map { now - $0 } ?? .zero
            }
        ]
    )

    /// At most `max_logstores` of each destination.
    static let logstores = FigureGroup<QueueStatus.Outlet>(
        .logstores,
        by: ["destination", "logstore"],
        { $0.outlets.map { ($0.labels, $0.outlet.queue) } },
        [
            Figure(
                "sluice_logstore_queued_logs",
                \.queued,
                "Logs of a logstore in the queue.",
                member: "queued_logs"
            ),
            Figure(
                "sluice_logstore_lanes_in_use",
                \.lanesInUse,
                "Packets of a logstore that have a lane.",
                member: "lanes_in_use"
            ),
            Figure(
                "sluice_logstore_oldest_seconds",
                "Age of a logstore's oldest log in the queue."
            ) { outlet, now in outlet.oldest.map { now - $0 } ?? .zero },
        ]
    )

    static let logstoreDelivery = FigureGroup<OutletStatus>(
        .logstores,
        by: ["destination", "logstore"],
        { report in
            report.outlets.compactMap { each in each.outlet.delivery.map { (each.labels, $0) } }
        },
        [
            Figure(
                "sluice_logstore_in_flight",
                \.inFlight,
                "Requests in flight to a logstore.",
                member: "in_flight"
            ),
            Figure(
                "sluice_logstore_limit",
                \.limit,
                "Requests that may be in flight to a logstore.",
                member: "limit"
            ),
            Figure(
                "sluice_logstore_waiting_packets",
                \.waiting,
                "Packets that are not in flight.",
                member: "waiting_packets"
            ),
            Figure(
                "sluice_logstore_packets_total",
                \.sentPackets,
                "Packets stored in a logstore.",
                member: "sent_packets"
            ),
            Figure(
                "sluice_logstore_logs_total",
                \.sentLogs,
                "Logs in packets stored in a logstore.",
                member: "sent_logs"
            ),
            Figure("sluice_logstore_failures_total", by: "kind", "Attempts that failed, by kind.") {
                outlet in
                DeliveryFailure.Kind.allCases.compactMap { kind in
                    outlet.failures[kind].map { (kind.rawValue, $0) }
                }
            },
            Figure("sluice_logstore_paused", "1 if only single probes go to a logstore.") {
                outlet,
                _ in outlet.standstill != nil
            },
            Figure(
                "sluice_logstore_rate",
                "Requests a second, while a quota paces them.",
                member: "rate"
            ) { outlet, _ in outlet.rate },
        ]
    )
}

extension GatewayReport {
    fileprivate var outlets: [(labels: [String], outlet: Outlet)] {
        destinations.flatMap { destination in
            destination.outlets.map { ([destination.name, $0.logstore], $0) }
        }
    }
}

extension FigureHistogram {
    fileprivate init(_ histogram: LatencyHistogram) {
        self.init(bounds: histogram.bounds, counts: histogram.counts, sum: histogram.sum)
    }
}
