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
                        Answer(status: 200, says: "yes", contents: readiness),
                        Answer(status: 503, says: "no, for these reasons", contents: readiness),
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
        json("/admin/queue", "queue", "What waits, and for how long", "QueueDocument"),
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
                        Answer(
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
        ("application/json", .either([.named("Readiness"), .named("Error")]))
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
        let answer = Answer(
            status: 200,
            says: "now",
            contents: [("application/json", .named(schema))]
        )
        let operation = Operation(id: id, says: says, answers: [answer])
        return PathItem(template: template, operations: Operation.look(operation))
    }
}
