import Queue

extension OpenAPIDocument {
    /// What monitoring asks.
    static let watchingPaths = [
        PathItem(
            template: "/healthz",
            operations: Operation.look(
                Operation(
                    id: "health",
                    says: "200 while the process lives",
                    answers: [.text("ok")],
                    isOpen: true
                )
            )
        ),
        PathItem(
            template: "/readyz",
            operations: Operation.look(
                Operation(
                    id: "readiness",
                    says: "Whether traffic should be sent here",
                    answers: [
                        DocumentedAnswer(status: 200, says: "yes", contents: readiness),
                        DocumentedAnswer(
                            status: 503,
                            says: "no, for these reasons",
                            contents: readiness
                        ),
                    ],
                    isOpen: true
                )
            )
        ),
        PathItem(
            template: "/metrics",
            operations: Operation.look(
                Operation(
                    id: "metrics",
                    says: "Metrics in the text format of Prometheus",
                    answers: [.text("metrics")]
                )
            )
        ),
        document("/admin/status", "status", "Everything an operator asks first", "Status"),
        PathItem(
            template: "/admin/queue",
            operations: Operation.look(
                Operation(
                    id: "queue",
                    says: "What waits, of whom, and for how long",
                    parameters: [
                        query("destination", .string, "only this one"),
                        query(
                            "streams",
                            .integer(0...Int64(StreamWish.countMax)),
                            "how many of each destination, 20; with 0 nobody waits for the queue's thread"
                        ),
                        query(
                            "order",
                            .choice(StreamWish.Order.allCases.map(\.rawValue)),
                            "which of them: those with the oldest logs, or with the most bytes"
                        ),
                    ],
                    answers: [
                        .fine("now", "QueueDocument"),
                        .refusal(404, "there is no such destination"),
                    ]
                )
            )
        ),
        json(
            "/admin/ledger",
            "ledger",
            "Where every log is, and whether that adds up",
            "LedgerDocument"
        ),
        PathItem(
            template: "/admin/openapi.json",
            operations: Operation.look(
                Operation(
                    id: "openapi",
                    says: "This document",
                    answers: [
                        DocumentedAnswer(
                            status: 200,
                            says: "OpenAPI 3.1",
                            contents: [("application/json", .named("OpenAPI"))]
                        )
                    ]
                )
            )
        ),
    ]

    private static let readiness: [(type: String, schema: Schema)] = [
        // A probe that is refused for another reason says so in the shape of errors.
        ("application/json", .either([.named("Readiness"), .named("Error")])),
        ("text/plain", .string),
    ]

    private static func document(
        _ template: String,
        _ id: String,
        _ says: String,
        _ schema: String
    ) -> PathItem {
        let operation = Operation(id: id, says: says, answers: [.fine("now", schema)])
        return PathItem(template: template, operations: Operation.look(operation))
    }

    private static func json(
        _ template: String,
        _ id: String,
        _ says: String,
        _ schema: String
    ) -> PathItem {
        let answer = DocumentedAnswer(
            status: 200,
            says: "now",
            contents: [("application/json", .named(schema))]
        )
        let operation = Operation(id: id, says: says, answers: [answer])
        return PathItem(template: template, operations: Operation.look(operation))
    }
}
