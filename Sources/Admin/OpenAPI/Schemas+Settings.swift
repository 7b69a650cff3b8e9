extension OpenAPIDocument {
    static let settingSchemas: [(String, Schema)] = [
        ("Destinations", .object([.init("destinations", .array(of: .named("Destination")))])),
        ("Destination", destination),
        // A list where every destination was meant; a name where one was forgotten that does not run.
        (
            "DestinationAnswer",
            .either([
                .named("Destination"), .named("Destinations"),
                .object([.init("name", .string)]),
            ])
        ),
        ("DestinationSettings", settings),
        ("DestinationPatch", destinationPatch),
    ]

    private static let destination = Schema.object([
        .init("settings", .named("DestinationSettings")),
        // In the words in which it was decided.
        .init("decided", .map(of: .anything)),
        // What does not go with the file any more.
        .optional("decided_and_left_out", .map(of: .anything)),
        .init("status", .named("DestinationStatus")),
    ])

    private static let foldTags = Schema.either([
        .choice(["none", "all"]), .array(of: .string),
    ])

    static let compressions = ["lz4", "zstd", "deflate", "none"]
    static let latePolicies = ["rewrite", "drop", "dead_letter"]

    private static let settings = Schema.object([
        .init("name", .string), .init("endpoint", .array(of: .string, count: 1...8)),
        .init("project", .string), .init("logstore", .string), .init("credential", .string),
        .init("signature", .choice(["v1", "v4"])), .init("region", .nullable(.string)),
        .init("proxy", .nullable(.string)), .init("ca_file", .nullable(.string)),
        .init("compress", .choice(compressions)),
        .init(
            "packet",
            .object([.init("bytes", .count), .init("logs", .count), .init("age", .string)])
        ),
        .init("concurrency", .count), .init("exactly_once", .boolean), .init("lanes", .count),
        .init("drop_unauthorized", .boolean), .init("connect_timeout", .string),
        .init("send_timeout", .string), .init("stall_timeout", .nullable(.string)),
        .init("clock_offset", .string), .init("topic", .nullable(.string)),
        .init("source", .nullable(.string)), .init("tags", .map(of: .string)),
        .init("late_logs", .choice(latePolicies)), .init("max_log_delay", .string),
        .init("oversize", .choice(["truncate", "dead_letter"])), .init("fold_tags", foldTags),
        .init("keep_pack_id", .boolean), .init("stamp", .map(of: .string)),
        .init("max_bytes", .nullable(.count)),
        .init("max_age", .nullable(.string)),
        .init("overflow", .choice(["reject", "drop_oldest"])), .init("fresh_first", .string),
        .init("logstores_max", .count),
    ])
}
