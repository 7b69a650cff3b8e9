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
            template: "/admin/tail",
            operations: Operation.look(
                Operation(
                    id: "tail",
                    says: "Logs as they are accepted, as server-sent events, without end",
                    parameters: [
                        query("destination", .string, "only of this destination"),
                        query("logstore", .string, "only of this logstore"),
                        query("topic", .string, "only of this topic"),
                        query(
                            "tag",
                            .string,
                            "only with this tag, as NAME or NAME:VALUE; may repeat"
                        ),
                        query(
                            "field",
                            .string,
                            "only with this field, as NAME or NAME:VALUE; up to 8"
                        ),
                    ],
                    answers: [
                        DocumentedAnswer(
                            status: 200,
                            says: "an event a log, and `missed` for those that found no room",
                            contents: [("text/event-stream", .string)]
                        )
                    ]
                )
            )
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
                    answers: [
                        .fine("a page", "Audit", headers: ["x-sluice-next"]).linked(
                            to: Link(
                                name: "next",
                                operation: "audit",
                                parameters: ["before": "$response.header.x-sluice-next"]
                            )
                        )
                    ]
                )
            )
        ),
    ]

    static let limit = query("limit", .integer(1...1000), "how many at most, 100")

    static let ifMatch = Operation.Parameter(
        name: "If-Match",
        place: .header,
        schema: .string,
        says: "the versions that the change is meant for, each the ETag of an answer, or *"
    )
    /// The one that was looked at, as it was then.
    static let same: KeyValuePairs = [
        "path.name": "$request.path.name", "header.If-Match": "$response.header.etag",
    ]
    static let meanwhile = DocumentedAnswer.refusal(
        412,
        "it is another version, as after somebody else's change"
    )

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
