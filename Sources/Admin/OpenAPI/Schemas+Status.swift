extension OpenAPIDocument {
    static let statusSchemas: [(String, Schema)] = [
        ("Status", status),
        ("Queue", queue),
        ("Listener", listener),
        ("ListenerTLS", listenerTLS),
        (
            "Stranger",
            // Of an earlier configuration.
            .object([.init("name", .string), .init("configured", .boolean), ledger])
        ),
        (
            "LedgerDocument",
            .object([
                .init("closed", .boolean), ledger,
                .init("destinations", .map(of: .named("DestinationLedger"))),
            ])
        ),
        (
            "DestinationLedger",
            .object([
                .init("accepted", .count), .init("delivered", .count), .init("queued", .count),
                .init("dead", .count), .init("expired", .count), .init("discarded", .count),
                .init("imbalance", .integer(.min ... .max)),
            ])
        ),
        (
            "QueueDocument",
            .object([
                .init("queue", .named("Queue")),
                .init("destinations", .map(of: .named("DestinationQueue"))),
            ])
        ),
        (
            "DestinationQueue",
            .object(
                [.init("queued_logs", .count)] + backlog + [
                    .init("outlets", .array(of: .named("OutletQueue"))),
                    // Null where they were not asked for, or the queue cannot be looked at.
                    .init("streams", .nullable(.array(of: .named("StreamQueue"), count: 0...1000))),
                    .init("streams_more", .nullable(.count)),
                ]
            )
        ),
        (
            "OutletQueue",
            .object([
                .init("logstore", .string), .init("queued_logs", .count),
                .init("packets", .count), oldest,
            ])
        ),
        ("StreamQueue", stream),
    ]

    private static let stream = Schema.object([
        .init("logstore", .string), .init("topic", .string), .init("source", .string),
        .init(
            "tags",
            .array(
                of: .object([.init("key", .string), .init("value", .string)]),
                count: 0...StreamNames.tagsMax
            )
        ),
        .init("tags_more", .count), .init("queued_logs", .count),
        // Before compression.
        .init("raw_bytes", .count), .init("packets", .count), oldest,
    ])

    private static let status = Schema.object([
        .init("version", .string), .init("time", .time), .init("uptime_seconds", .number),
        .init("ready", .boolean), .init("draining", .boolean), reasons, ledger,
        .init("ledger_closed", .boolean), .init("queue", .named("Queue")),
        .init(
            "destinations",
            .array(of: .either([.named("DestinationStatus"), .named("Stranger")]))
        ),
        .init("credentials", .array(of: .named("Credential"))),
        .optional(
            "webhook",
            .object([
                .init("place", .string), .init("sent", .count), .init("failed", .count),
                .init("dropped", .count), .init("waiting", .count),
                .init("problem", .nullable(.string)),
            ])
        ),
        .optional(
            "token_keys",
            .array(
                of: .object([
                    .init("name", .string), .init("url", .string), .init("keys", .count),
                    .init("fetched", .nullable(.time)), .init("failures", .count),
                    .init("problem", .nullable(.string)),
                ])
            )
        ),
        .init("listeners", .array(of: .named("Listener"))),
        .init(
            "process",
            .object([
                .init("resident_bytes", .count), .init("cpu_seconds", .number),
                .init("open_descriptors", .count),
            ])
        ),
    ])

    private static let queue = Schema.object([
        admission, .init("problem", .nullable(.string)), .init("bytes", .count),
        .init("bytes_max", .count), .init("rows", .count), .init("streams", .count),
        .init("packets", .count), oldest, .init("isolations", .count),
        .init("isolations_waiting", .count), .init("commits", .count),
        .init(
            "duplicates",
            .object([
                .init("known", .count), .init("repeated", .count),
                .init("forgotten_early", .count),
            ])
        ),
        .init("database_bytes", .count), .init("log_bytes", .count),
        .init("disk_free_bytes", .nullable(.count)),
    ])

    private static let listener = Schema.object([
        .init("name", .string), .init("address", .string), .init("connections", .count),
        .init("requests", .count), .init("tls", .nullable(.named("ListenerTLS"))),
    ])

    private static let listenerTLS = Schema.object([
        .init(
            "certificates",
            .array(
                of: .object([
                    .init("file", .string), .init("names", .array(of: .string)),
                    .init("expires", .time), .init("expiring", .boolean),
                ])
            )
        ),
        .init(
            "revocation_lists",
            .array(
                of: .object([
                    .init("file", .string), .init("issuer", .string), .init("revoked", .count),
                    .init("expires", .nullable(.time)), .init("expired", .boolean),
                ])
            )
        ),
        .init("problem", .nullable(.string)),
    ])
}
