import Delivery
import JSON
import Operations
import Queue
import System

enum DeliveryFigures {
    static let parts: [any FigurePart] = [
        destinations, ages, logstores, logstoreDelivery,
    ]

    static let destinations = FigureGroup<DestinationStatus>(.delivery, by: ["destination"]) {
        $0.destinations.map { ([$0.name], $0.delivery) }
    }.table([
        Figure("sluice_delivery_in_flight", \.inFlight, member: "in_flight"):
            "Requests in flight to the destination.",
        Figure("sluice_delivery_limit", \.limit, member: "limit"):
            "Requests that may be in flight to the destination.",
        Figure("sluice_delivery_leased_packets", \.leased, member: "leased_packets"):
            "Packets that delivery holds, those in flight included.",
        Figure("sluice_delivery_waiting_for_retry", \.waitingRetry, member: "waiting_for_retry"):
            "Packets that wait to be tried again.",
        Figure("sluice_delivery_memory_bytes", \.memoryBytes):
            "Bytes in memory of waiting packets and of bodies in flight.",
        Figure("sluice_delivery_awaiting_clock", \.awaitingClock, member: "awaiting_clock"):
            "Lone logs that wait until the host's clock is set.",
        Figure("sluice_delivery_packets_total", \.sentPackets, member: "sent_packets"):
            "Packets stored at the destination.",
        Figure("sluice_delivery_logs_total", \.sentLogs, member: "sent_logs"):
            "Logs in packets stored at the destination.",
        Figure("sluice_delivery_raw_bytes_total", \.sentRawBytes):
            "Bytes of delivered logs, before compression.",
        Figure("sluice_delivery_wire_bytes_total", \.sentWireBytes):
            "Bytes of delivered packets, as they were sent.",
        Figure("sluice_delivery_isolated_packets_total", \.isolated, member: "isolated_packets"):
            "Packets returned to the queue because SLS refuses one of their logs.",
        Figure("sluice_delivery_discarded_packets_total", \.discarded, member: "discarded_packets"):
            "Packets dropped for lack of a permission, with drop_unauthorized.",
        Figure("sluice_delivery_relaned_packets_total", \.relaned, member: "relaned_packets"):
            "Packets that needed another lane.",
        Figure("sluice_delivery_unreadable_packets_total", \.voided, member: "unreadable_packets"):
            "Packets that the queue could not read.",
        Figure(
            "sluice_delivery_unknown_outcomes_total",
            \.unknownOutcomes,
            member: "unknown_outcomes"
        ): "Requests without a clear answer, whose packet may be stored.",
        Figure("sluice_delivery_stored_before_total", \.storedBefore, member: "stored_before"):
            "Packets that an earlier request had stored.",
        Figure("sluice_delivery_resigned_total", \.resigned, member: "resigned_requests"):
            "Requests signed again with SLS's time.",
        Figure("sluice_delivery_memory_waits_total", \.memoryWaits):
            "Times that a request began to wait for room in memory.",
        Figure("sluice_delivery_retries_total", \.retries):
            "Requests with packets that had failed before.",
        Figure("sluice_delivery_failures_total", by: "kind") { delivery in
            DeliveryFailure.Kind.allCases.map { ($0.rawValue, delivery.failures[$0] ?? 0) }
        }: "Attempts that failed, by kind.",
        Figure("sluice_delivery_results_total", by: "result") { delivery in
            ProducerResult.allCases.compactMap { result in
                delivery.results[result].map { (result.name, $0) }
            }
        }: "Attempts that failed, by the result that SLS's SDKs would report.",
        Figure("sluice_delivery_state", by: "state") { delivery in
            DestinationStatus.stateNames.map { ($0, $0 == delivery.stateName) }
        }: "1 for the destination's present state.",
        Figure("sluice_delivery_endpoint_fallback") { delivery, _ in
            delivery.endpoint != delivery.endpoints.first
        }: "1 if an endpoint other than the first is in use.",
        Figure(
            "sluice_delivery_clock_offset_seconds",
            \.clockOffset.inSeconds,
            member: "clock_offset_seconds"
        ): "SLS's clock minus the host's, as requests are signed.",
        Figure("sluice_delivery_failing") { delivery, _ in delivery.trouble != nil }:
            "1 while a problem keeps logs from being delivered.",
        Figure("sluice_delivery_rate", member: "rate") { delivery, _ in delivery.rate }:
            "Requests a second, while the project's quota paces them.",
        Figure("sluice_delivery_answers_total", by: "code") {
            $0.answers.merging(["OK": 0]) { count, _ in count }.sorted { $0.key < $1.key }.map {
                ($0.key, $0.value)
            }
        }: "Answers by SLS's code: OK, a known code, other, or not_sls for other servers.",
        Figure("sluice_delivery_pauses_total", by: "reason") { delivery in
            PauseReason.all.map { ($0.name, delivery.pauses[$0] ?? 0) }
        }: "Pauses of the destination or a part of it, by reason.",
        Figure("sluice_delivery_seconds", histogram: \.latency):
            "Duration of requests that SLS answered.",
        Figure("sluice_delivery_wait_seconds", histogram: \.waits):
            "Time from the acceptance of a packet's oldest log until SLS stored the packet.",
    ])

    private static let ages = FigureGroup<QueueStatus.Destination>(.queue, by: ["destination"]) {
        $0.destinations.map { ([$0.name], $0.queue) }
    }.table([
        Figure("sluice_queue_oldest_seconds") { destination, now in
            destination.oldest.map { now - $0 } ?? .zero
        }: "Age of the oldest log in the queue."
    ])

    /// At most `max_logstores` of each destination.
    static let logstores = FigureGroup<QueueStatus.Outlet>(
        .logstores,
        by: ["destination", "logstore"]
    ) { $0.outlets.map { ($0.labels, $0.outlet.queue) } }.table([
        Figure("sluice_logstore_queued_logs", \.queued, member: "queued_logs"):
            "Logs of a logstore in the queue.",
        Figure("sluice_logstore_lanes_in_use", \.lanesInUse, member: "lanes_in_use"):
            "Packets of a logstore that have a lane.",
        Figure("sluice_logstore_oldest_seconds") { outlet, now in
            outlet.oldest.map { now - $0 } ?? .zero
        }: "Age of a logstore's oldest log in the queue.",
    ])

    static let logstoreDelivery = FigureGroup<OutletStatus>(
        .logstores,
        by: ["destination", "logstore"]
    ) { report in
        report.outlets.compactMap { each in each.outlet.delivery.map { (each.labels, $0) } }
    }.table([
        Figure("sluice_logstore_in_flight", \.inFlight, member: "in_flight"):
            "Requests in flight to a logstore.",
        Figure("sluice_logstore_limit", \.limit, member: "limit"):
            "Requests that may be in flight to a logstore.",
        Figure("sluice_logstore_waiting_packets", \.waiting, member: "waiting_packets"):
            "Packets that are not in flight.",
        Figure("sluice_logstore_packets_total", \.sentPackets, member: "sent_packets"):
            "Packets stored in a logstore.",
        Figure("sluice_logstore_logs_total", \.sentLogs, member: "sent_logs"):
            "Logs in packets stored in a logstore.",
        Figure("sluice_logstore_failures_total", by: "kind") { outlet in
            DeliveryFailure.Kind.allCases.compactMap { kind in
                outlet.failures[kind].map { (kind.rawValue, $0) }
            }
        }: "Attempts that failed, by kind.",
        Figure("sluice_logstore_paused") { outlet, _ in outlet.standstill != nil }:
            "1 if only single probes go to a logstore.",
        Figure("sluice_logstore_rate", member: "rate") { outlet, _ in outlet.rate }:
            "Requests a second, while a quota paces them.",
    ])
}

extension GatewayReport {
    fileprivate var outlets: [(labels: [String], outlet: Outlet)] {
        destinations.flatMap { destination in
            destination.outlets.map { ([destination.name, $0.logstore], $0) }
        }
    }
}
