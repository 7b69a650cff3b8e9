import HTTP

extension OpenAPIDocument {
    /// What concerns the whole gateway.
    static let steeringPaths = [
        PathItem(
            template: "/admin/drain",
            operations: Operation.look(
                Operation(
                    id: "drainProgress",
                    says: "How much is left",
                    answers: [.fine("now", "Drain")]
                )
            ) + [
                Operation(
                    method: .post,
                    id: "drain",
                    says: "Take no more logs, and send what is there",
                    answers: [.fine("it is being drained", "Drain")]
                ),
                Operation(
                    method: .delete,
                    id: "endDrain",
                    says: "Take logs again",
                    answers: [.fine("logs are taken", "Drain")]
                ),
            ]
        ),
        PathItem(
            template: "/admin/audit",
            operations: Operation.look(
                Operation(
                    id: "audit",
                    says: "Who changed what, from where, newest first",
                    parameters: [
                        query("before", .id, "only changes older than this one"),
                        query("after", .id, "the same, under the name that other lists have"),
                        limit,
                    ],
                    answers: [.fine("a page", "Audit", headers: ["x-sluice-next"])]
                )
            )
        ),
    ]

    static let limit = query("limit", .integer(1...1000), "how many at most, 100")

    static func query(
        _ name: String,
        _ schema: Schema,
        _ says: String
    ) -> Operation.Parameter {
        Operation.Parameter(name: name, place: .query, schema: schema, says: says)
    }

    static func name(of what: String, example: String) -> Operation.Parameter {
        Operation.Parameter(
            name: "name",
            place: .path,
            schema: .pattern("^[^/]+$"),
            says: what,
            example: example
        )
    }
}
