extension OpenAPIDocument {
    static let deadLetterSchemas: [(String, Schema)] = [
        (
            "DeadLetters",
            .object([
                // On the first page; empty on those after it.
                .init("sums", .array(of: .named("DeadLetterSum"))),
                .init("dead_letters", .array(of: .named("DeadLetter"), count: 0...1000)),
                .init("next", .nullable(.id)),
            ])
        ),
        (
            "DeadLetterSum",
            .object([
                .init("destination", .string), .init("code", .string), .init("letters", .count),
                .init("bytes", .count), .init("latest", .time),
            ])
        ),
        (
            "DeadLetter",
            .object([
                .init("id", .id), .init("destination", .string), .init("logstore", .string),
                .init("topic", .nullable(.string)), .init("source", .nullable(.string)),
                .init("tags", .map(of: .string)), .init("accepted", .time), .init("died", .time),
                .init("code", .string), .init("message", .string), .optional("status", .count),
                .init("request_id", .nullable(.string)), .init("bytes", .count),
                // Null when it changed on the disk.
                .init("log", .nullable(.map(of: .string))),
            ])
        ),
        // As a device would send it.
        (
            "Log",
            .either([
                .map(of: .anything), .array(of: .map(of: .anything), count: 1...1),
            ])
        ),
        ("Replayed", .object([.init("replayed", .count), unreadable])),
        ("Purged", .object([.init("purged", .count), unreadable])),
    ]

    /// Those that changed on the disk.
    private static let unreadable = Schema.Member("unreadable", .count)
}
