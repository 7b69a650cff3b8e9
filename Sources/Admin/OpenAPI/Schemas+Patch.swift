import Configuration

extension OpenAPIDocument {
    /// What is decided of a destination, each setting as the configuration file would have it.
    static let destinationPatch = Schema.object(
        whereToSettings + howToSettings + whatSettings + backlogSettings
    )

    private static let whereToSettings: [Schema.Member] = [
        setting("endpoint", .either([.setting(), .array(of: .setting(), count: 1...8)])),
        setting("project", .setting(pattern: "^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$")),
        setting("logstore", .setting(pattern: "^([a-z0-9][a-z0-9_-]{0,61}[a-z0-9]|\\*)$")),
        setting("credential", .setting()),
        setting("signature", .choice(["v1", "v4"])),
        setting("region", .setting(pattern: "^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$")),
        setting("proxy", .setting()),
        setting("ca_file", .setting()),
    ]

    private static let howToSettings: [Schema.Member] = [
        setting("compress", .choice(compressions)),
        setting(
            "packet",
            .object([
                setting("bytes", size), setting("logs", count(1...40_960)),
                setting("age", duration),
            ])
        ),
        setting("concurrency", count(1...256)),
        setting("exactly_once", boolean),
        setting("lanes", count(1...512)),
        setting("drop_unauthorized", boolean),
        setting("connect_timeout", duration),
        setting("send_timeout", duration),
        setting("stall_timeout", duration),
        setting(
            "clock_offset",
            .either([.pattern("^[+-]?(0|([0-9]+(ms|s|m|h|d))+)$"), .integer(0...0)])
        ),
    ]

    private static let whatSettings: [Schema.Member] = [
        setting("topic", .setting()), setting("source", .setting()),
        setting("tags", .map(of: .setting())),
        setting("late_logs", .choice(latePolicies)),
        setting("max_log_delay", duration),
        setting("oversize", .choice(["truncate", "dead_letter"])),
        setting(
            "fold_tags",
            .either([.choice(["all", "none"]), .array(of: .setting(), count: 0...64)])
        ),
        setting("keep_pack_id", boolean),
        setting(
            "stamp",
            .object(
                SenderStamps.Fact.allCases.map { .optional($0.rawValue, .nullable(.setting())) }
            )
        ),
    ]

    private static let backlogSettings: [Schema.Member] = [
        setting("max_bytes", size),
        setting("max_age", duration),
        setting("overflow", .choice(["reject", "drop_oldest"])),
        setting("fresh_first", .either([.pattern("^([0-9]+%|0)$"), .integer(0...0)])),
        setting("logstores_max", count(1...10_000)),
    ]

    private static let duration = Schema.pattern("^([0-9]+(ms|s|m|h|d))+$")
    private static let boolean = Schema.either([.boolean, .choice(["true", "false"])])
    private static let size = Schema.either([
        .integer(1...Int64.max), .pattern("^[0-9]+([KMGT]i?B|B)?$"),
    ])

    private static func count(_ range: ClosedRange<Int64>) -> Schema {
        .either([.integer(range), .pattern("^[+-]?[0-9]+$")])
    }

    /// Null gives it back to the file.
    private static func setting(_ name: String, _ schema: Schema) -> Schema.Member {
        .optional(name, .nullable(schema))
    }
}
