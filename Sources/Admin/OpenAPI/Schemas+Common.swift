import Operations
import Queue

extension OpenAPIDocument {
    static let commonSchemas: [(String, Schema)] = [
        (
            "Error",
            .object([
                .init(
                    "error",
                    .object([
                        .init("code", .string), .init("message", .string),
                        // The byte of the body where reading stopped.
                        .optional("position", .count),
                    ])
                )
            ])
        ),
        (
            "Ledger",
            .object([
                .init("accepted", .count), .init("delivered", .count), .init("queued", .count),
                .init("dead", .count), .init("expired", .count), .init("discarded", .count),
            ])
        ),
        ("Readiness", .object([.init("ready", .boolean), reasons])),
        (
            "Drain",
            .object([
                .init("draining", .boolean), .init("queued", .count),
                // Requests that are being stored.
                .init("arriving", .count), .init("dead", .count),
                // Of what is queued, that of paused destinations.
                .init("held", .count),
            ])
        ),
        (
            "Audit",
            .object([.init("changes", .array(of: .named("Change"), count: 0...1000))])
        ),
        (
            "Change",
            .object([
                .init("id", .id), .init("time", .time), .init("actor", .string),
                .init("address", .string), .init("action", .string), .init("subject", .string),
                .init("before", .string), .init("after", .string),
            ])
        ),
        ("OpenAPI", .map(of: .anything)),
    ]

    static let reasons = Schema.Member("reasons", .array(of: .string))
    static let ledger = Schema.Member("ledger", .named("Ledger"))
    static let admission = Schema.Member("admission", .choice(QueueAdmission.all.map(\.name)))
    static let oldest = Schema.Member("oldest_seconds", .nullable(.number))
}
