import Delivery
import Operations

extension OpenAPIDocument {
    static let deliverySchemas: [(String, Schema)] = [
        ("DestinationStatus", destinationStatus),
        ("Backlog", .object(backlog)),
        ("Delivery", delivery),
        ("Outlet", outlet),
        ("DeliveryError", lastError),
    ]

    /// What of a destination waits.
    static let backlog: [Schema.Member] = [
        admission, .init("bytes", .count), .init("bytes_max", .nullable(.count)),
        .init("packets", .count), .init("lanes", .count), oldest, .init("dead_bytes", .count),
        .init("dropped_logs", .count), .init("refused_logs", .count),
        .init("last_refusal", .nullable(.string)), .init("logstores", .count),
        .init("logstores_max", .count),
    ]

    private static let failed = Schema.Member("last_error", .nullable(.named("DeliveryError")))
    private static let trouble = Schema.Member("trouble", .nullable(.string))
    private static let attempt = Schema.Member("next_attempt", .nullable(.time))

    private static let destinationStatus = Schema.object([
        .init("name", .string), .init("configured", .boolean), .init("notice", .nullable(.string)),
        .init("endpoint", .string), .init("endpoints", .array(of: .string)),
        .init("endpoint_reason", .nullable(.string)),
        .init("project", .string), .init("logstore", .string),
        .init("state", .choice(DestinationStatus.stateNames)), trouble, attempt, ledger,
        .init("ledger_closed", .boolean), .init("queue", .named("Backlog")),
        .init("delivery", .named("Delivery")), failed,
        .init("outlets", .array(of: .named("Outlet"))),
    ])

    private static let delivery = Schema.object([
        .init("limit", .count), .init("in_flight", .count), .init("leased_packets", .count),
        .init("waiting_for_retry", .count), .init("rate", .nullable(.number)),
        .init("clock_offset_seconds", .number),
        .init("host_clock_wrong_by_seconds", .nullable(.number)),
        .init("awaiting_clock", .count), .init("sent_packets", .count),
        .init("sent_logs", .count), .init("stored_before", .count),
        .init("unknown_outcomes", .count), .init("isolated_packets", .count),
        .init("discarded_packets", .count), .init("relaned_packets", .count),
        .init("unreadable_packets", .count), .init("resigned_requests", .count),
        .init("failures", .count), .init("failures_in_a_row", .count),
        .init("last_success", .nullable(.time)),
    ])

    /// One that was never sent to is `idle`, and there is no more to tell.
    private static let outlet = Schema.object([
        .init("logstore", .string), .init("queued_logs", .count), .init("packets", .count),
        .init("lanes_in_use", .count), oldest,
        .init("state", .choice(["idle"] + OutletStatus.stateNames)),
        .optional("trouble", .nullable(.string)),
        .optional("next_attempt", .nullable(.time)), .optional("limit", .count),
        .optional("in_flight", .count), .optional("waiting_packets", .count),
        .optional("waiting_for_retry", .count), .optional("rate", .nullable(.number)),
        .optional("sent_packets", .count), .optional("sent_logs", .count),
        .optional("failures", .count), .optional("last_success", .nullable(.time)),
        .optional("last_error", .nullable(.named("DeliveryError"))),
    ])

    private static let lastError = Schema.object([
        .init("time", .time), .init("logstore", .string),
        .init("kind", .choice(DeliveryFailure.Kind.allCases.map(\.rawValue))),
        .init("error", .string),
        .init("result", .object([.init("name", .string), .init("number", .count)])),
        .init("request_id", .nullable(.string)), .init("remedy", .string),
    ])
}
