import HTTP

extension OpenAPIDocument {
    static let deadLetterPaths = [
        PathItem(
            template: "/admin/dead-letters",
            operations: Operation.look(
                Operation(
                    id: "deadLetters",
                    says: "Logs that SLS will never take as they are, oldest first",
                    parameters: filter + page,
                    answers: [
                        .fine("a page", "DeadLetters", headers: ["x-sluice-next"]).linked(
                            to: Link(name: "one", operation: "deadLetter", parameters: first),
                            Link(name: "edit", operation: "editDeadLetter", parameters: first),
                            Link(
                                name: "next",
                                operation: "deadLetters",
                                parameters: ["after": "$response.header.x-sluice-next"]
                            )
                        )
                    ]
                )
            )
        ),
        PathItem(
            template: "/admin/dead-letters/export",
            operations: Operation.look(
                Operation(
                    id: "exportDeadLetters",
                    says: "The same, one JSON object a line",
                    parameters: filter + page,
                    answers: [
                        DocumentedAnswer(
                            status: 200,
                            says: "a page",
                            contents: [("application/x-ndjson", .string)],
                            headers: ["x-sluice-next"]
                        )
                    ]
                )
            )
        ),
        PathItem(
            template: "/admin/dead-letters/{id}",
            operations: Operation.look(
                Operation(
                    id: "deadLetter",
                    says: "One of them",
                    parameters: [id],
                    answers: [.fine("this one", "DeadLetter"), notFound]
                )
            ) + [edit]
        ),
        change("replay", "Queue them again, as they are", "Replayed"),
        change("purge", "Forget them", "Purged"),
    ]

    private static let id = Operation.Parameter(
        name: "id",
        place: .path,
        schema: .id,
        says: "its number"
    )
    private static let first: KeyValuePairs = ["id": "$response.body#/dead_letters/0/id"]
    private static let notFound = DocumentedAnswer.refusal(
        404,
        "no such dead letter, or not any more"
    )
    private static let logstore = query("logstore", .string, "of this logstore")
    private static let filter = [
        query("destination", .string, "of this destination"), logstore,
        query("code", .string, "that died of this, as PostBodyInvalid"),
    ]
    private static let page = [
        query("after", .count, "from the one after this number; see x-sluice-next"), limit,
    ]

    private static let edit = Operation(
        method: .put,
        id: "editDeadLetter",
        says: "Replace the log, its logstore, or both; replay it to deliver it",
        parameters: [
            id,
            query("logstore", .pattern("^[a-z0-9][a-z0-9_-]{1,61}[a-z0-9]$"), "where it is to go"),
        ],
        body: Operation.Body(
            types: ["application/json"],
            schema: .named("Log"),
            isRequired: false
        ),
        answers: [
            .fine("as it is then", "DeadLetter"), notFound,
            .refusal(409, "it changed on the disk, or its destination has one logstore only"),
        ]
    )

    private static func change(_ verb: String, _ says: String, _ schema: String) -> PathItem {
        let operation = Operation(
            method: .post,
            id: "\(verb)DeadLetters",
            says: "\(says). Wants ids, a filter, or all",
            parameters: filter + [
                query(
                    "ids",
                    .pattern("^[1-9][0-9]{0,17}(,[1-9][0-9]{0,17})*$"),
                    "by number, no filter"
                ),
                query("all", .choice(["true"]), "all that the filter lets through"),
            ],
            answers: [.fine("so many", schema)]
        )
        return PathItem(template: "/admin/dead-letters/\(verb)", operations: [operation])
    }
}
