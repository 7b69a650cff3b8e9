import HTTP

extension OpenAPIDocument {
    static let destinationPaths = [
        PathItem(
            template: "/admin/destinations",
            operations: Operation.look(
                Operation(
                    id: "destinations",
                    says: "Settings, what was decided of them, and state of each",
                    answers: [
                        .fine("all", "Destinations").linked(
                            to: Link(name: "one", operation: "destination", parameters: first),
                            Link(name: "flush", operation: "flushDestination", parameters: first)
                        )
                    ]
                )
            )
        ),
        PathItem(
            template: "/admin/destinations/{name}",
            operations: Operation.look(
                Operation(
                    id: "destination",
                    says: "Settings, what was decided of them, and state",
                    parameters: [name],
                    answers: [
                        shown.linked(
                            to: Link(
                                name: "patch",
                                operation: "patchDestination",
                                parameters: same
                            ),
                            Link(name: "reset", operation: "resetDestination", parameters: same)
                        ), notFound,
                    ]
                )
            ) + [patch, reset]
        ),
        verb("pause", "Send nothing for now, also after a restart"),
        verb("resume", "Go on"),
        verb("flush", "Send what waits for company"),
    ]

    private static let name = name(
        of: "a destination of the configuration; * is every one, where settings are not changed",
        example: "default"
    )
    private static let first: KeyValuePairs = [
        "name": "$response.body#/destinations/0/settings/name"
    ]
    private static let notFound = DocumentedAnswer.refusal(404, "no such destination")
    private static let shown = DocumentedAnswer.fine(
        "as it is then; of every one a list, without an ETag",
        "DestinationAnswer",
        headers: ["etag"]
    )
    private static let full = DocumentedAnswer.refusal(
        409,
        "it does not run, or too many settings are decided already"
    )

    private static let patch = Operation(
        method: .patch,
        id: "patchDestination",
        says: "Other settings, at once and until they are reset; null is as the configuration says",
        parameters: [name, ifMatch],
        body: Operation.Body(
            types: ["application/json"],
            schema: .named("DestinationPatch"),
            isRequired: true
        ),
        answers: [
            shown, notFound, meanwhile,
            .refusal(400, "all that is wrong with it; nothing was changed"),
            .refusal(
                409,
                "it was removed from the configuration, or too many settings are decided already"
            ),
        ]
    )

    private static let reset = Operation(
        method: .delete,
        id: "resetDestination",
        says: "As the configuration says again",
        parameters: [name, ifMatch],
        answers: [shown, notFound, meanwhile, full]
    )

    private static func verb(_ verb: String, _ says: String) -> PathItem {
        let operation = Operation(
            method: .post,
            id: "\(verb)Destination",
            says: says,
            parameters: [name],
            answers: [shown, notFound, full]
        )
        return PathItem(template: "/admin/destinations/{name}/\(verb)", operations: [operation])
    }
}
