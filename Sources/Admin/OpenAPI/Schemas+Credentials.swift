import Credentials

extension OpenAPIDocument {
    static let credentialSchemas: [(String, Schema)] = [
        ("Credentials", .object([.init("credentials", .array(of: .named("Credential")))])),
        ("Credential", .object(credential)),
        // Nothing but its name where the configuration has none of it.
        ("Forgotten", .either([.named("Credential"), .object([.init("name", .string)])])),
        (
            "Rotation",
            .object(
                credential + [
                    .init("proved", .boolean),
                    // Whether it outlives a restart.
                    .init("stored", .boolean),
                    .init("not_stored_because", .nullable(.string)),
                    .init("proofs", .array(of: .named("Proof"))),
                    .init("role_proofs", .array(of: .named("RoleProof"))),
                ]
            )
        ),
        (
            "Verification",
            .object([
                .init("name", .string), .init("verdict", .nullable(verdict)),
                .init("proofs", .array(of: .named("Proof"))),
                .init("role_proofs", .array(of: .named("RoleProof"))),
            ])
        ),
        (
            // What STS says when it is asked for a role with the credential.
            "RoleProof",
            .object([
                .init("role", .string), .init("verdict", verdict),
                .init("status", .nullable(.count)), .init("code", .nullable(.string)),
                .init("message", .nullable(.string)), .init("request_id", .nullable(.string)),
                .init("remedy", .nullable(.string)),
            ])
        ),
        (
            "Proof",
            .object([
                .init("destination", .string), .init("endpoint", .string),
                .init("verdict", verdict), .init("status", .nullable(.count)),
                .init("code", .nullable(.string)), .init("message", .string),
                .init("request_id", .nullable(.string)), .init("remedy", .nullable(.string)),
            ])
        ),
        ("NewCredential", newCredential),
    ]

    private static let verdict = Schema.choice(["accepted", "refused", "undecided"])

    private static let credential: [Schema.Member] = [
        .init("name", .string), .init("source", .string),
        .init("state", .choice(CredentialStatus.State.allCases.map(\.rawValue))),
        .init("origin", .nullable(.string)), .init("pushed", .boolean),
        // Its first and last characters.
        .init("access_key_id", .nullable(.string)),
        .init("fingerprint", .nullable(.string)), .init("expiration", .nullable(.time)),
        // Negative after its end.
        .init("seconds_left", .nullable(.integer(.min ... .max))),
        .optional(
            "next",
            .object([.init("fingerprint", .string), .init("activation", .time)])
        ),
        // Whether what was pushed outlives a restart, and why not.
        .init("kept", .nullable(.choice(["disk", "memory", "closed"]))),
        .init("kept_reason", .nullable(.string)),
        .init("last_refresh", .nullable(.time)), .init("last_problem", .nullable(.string)),
        .init("failures", .count), .init("next_try", .nullable(.time)),
    ]

    /// As STS writes it, or in lower snake case.
    private static let newCredential = Schema.either([
        .object(
            members(["AccessKeyId", "AccessKeySecret", "SecurityToken", "Expiration", "Activation"])
        ),
        .object(
            members([
                "access_key_id", "access_key_secret", "security_token", "expiration", "activation",
            ])
        ),
    ])

    private static func members(_ names: [String]) -> [Schema.Member] {
        // Visible ASCII: whatever else stands in a header or a signature would be refused by SLS.
        let text = Schema.pattern("^[!-~]+$")
        return [
            .init(names[0], text), .init(names[1], text), .optional(names[2], .nullable(text)),
            .optional(names[3], .nullable(.time)), .optional(names[4], .nullable(.time)),
        ]
    }
}
