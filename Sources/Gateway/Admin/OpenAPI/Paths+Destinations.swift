import HTTP

extension OpenAPIDocument {
    static let destinationPaths = [
        PathItem(
            template: "/admin/destinations",
            operations: Operation.look(
                Operation(
                    id: "destinations",
                    says: "Settings, what was decided of them, and state of each",
                    answers: [.fine("all", "Destinations")]
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
                    answers: [shown, nobody]
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
    private static let nobody = Answer.refusal(404, "no such destination")
    private static let shown = Answer.fine(
        "as it is then; of every one a list, without an ETag",
        "DestinationAnswer",
        headers: ["etag"]
    )
    private static let version = Operation.Parameter(
        name: "If-Match",
        place: .header,
        schema: .string,
        says: "the ETag that the change is meant for, or *"
    )
    private static let meanwhile = Answer.refusal(412, "somebody else changed it meanwhile")

    private static let patch = Operation(
        method: .patch,
        id: "patchDestination",
        says: "Other settings, at once and until they are reset; null is as the configuration says",
        parameters: [name, version],
        body: Operation.Body(
            types: ["application/json"],
            schema: .named("DestinationPatch"),
            isRequired: true
        ),
        answers: [
            shown, nobody, meanwhile,
            .refusal(400, "all that is wrong with it; nothing was changed"),
        ]
    )

    private static let reset = Operation(
        method: .delete,
        id: "resetDestination",
        says: "As the configuration says again",
        parameters: [name, version],
        answers: [shown, nobody, meanwhile]
    )

    private static func verb(_ verb: String, _ says: String) -> PathItem {
        let operation = Operation(
            method: .post,
            id: "\(verb)Destination",
            says: says,
            parameters: [name],
            answers: [shown, nobody]
        )
        return PathItem(template: "/admin/destinations/{name}/\(verb)", operations: [operation])
    }
}
