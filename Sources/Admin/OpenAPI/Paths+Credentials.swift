import HTTP

extension OpenAPIDocument {
    static let credentialPaths = [
        PathItem(
            template: "/admin/credentials",
            operations: Operation.look(
                Operation(
                    id: "credentials",
                    says: "Source, state, fingerprint and end of each; never a secret",
                    answers: [
                        .fine("all", "Credentials").linked(
                            to: Link(name: "one", operation: "credential", parameters: first),
                            Link(name: "verify", operation: "verifyCredential", parameters: first)
                        )
                    ]
                )
            )
        ),
        PathItem(
            template: "/admin/credentials/{name}",
            operations: Operation.look(
                Operation(
                    id: "credential",
                    says: "Source, state, fingerprint and end; never a secret",
                    parameters: [name],
                    answers: [
                        .fine("this one", "Credential", headers: ["etag"]).linked(
                            to: Link(
                                name: "rotate",
                                operation: "rotateCredential",
                                parameters: same
                            ),
                            Link(name: "forget", operation: "forgetCredential", parameters: same)
                        ), notFound,
                    ]
                )
            ) + [rotate, forget]
        ),
        PathItem(
            template: "/admin/credentials/{name}/verify",
            operations: [
                Operation(
                    method: .post,
                    id: "verifyCredential",
                    says:
                        "Ask SLS, for each destination that uses it, whether it takes the one in use",
                    parameters: [name],
                    answers: [
                        .fine(
                            "one destination that uses it takes it, or none uses it",
                            "Verification"
                        ),
                        notFound, unproved(422, "SLS refuses it"),
                        unproved(502, "nobody could tell"),
                        .refusal(409, "there is none to ask about"),
                    ]
                )
            ]
        ),
    ]

    private static let name = name(of: "a credential of the configuration", example: "default")
    private static let first: KeyValuePairs = ["name": "$response.body#/credentials/0/name"]
    private static let notFound = DocumentedAnswer.refusal(404, "no such credential")

    /// With what each destination said; a credential that cannot be sent at all is refused in the common shape.
    private static func unproved(_ status: Int, _ says: String) -> DocumentedAnswer {
        DocumentedAnswer(
            status: status,
            says: says,
            contents: [
                ("application/json", .either([.named("Verification"), .named("Error")])),
                ("text/plain", .string),
            ]
        )
    }

    private static let rotate = Operation(
        method: .put,
        id: "rotateCredential",
        says: "Put another one in the place of the one in use, when SLS takes it",
        parameters: [
            name,
            query("force", .choice(["true", "false"]), "without asking SLS"), ifMatch,
        ],
        body: Operation.Body(
            types: ["application/json"],
            schema: .named("NewCredential"),
            isRequired: true
        ),
        answers: [
            .fine("in use, at once or at its activation", "Rotation", headers: ["etag"]), notFound,
            meanwhile,
            .refusal(400, "half a credential, an unknown member, no time, or expired"),
            .refusal(409, "another one was put in place while this one was proved"),
            .refusal(422, "SLS refuses it; the old one stays"),
            .refusal(502, "it cannot be proved; the old one stays"),
        ]
    )

    private static let forget = Operation(
        method: .delete,
        id: "forgetCredential",
        says: "Give the word back to the source of the configuration",
        parameters: [name, ifMatch],
        answers: [.fine("as configured", "Forgotten", headers: ["etag"]), notFound, meanwhile]
    )
}
