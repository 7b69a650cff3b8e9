import Crypto
import Glibc
import SLS
import System

extension SourceVisit {
    func assume(_ role: AssumeRole) throws(SourceProblem) -> SuppliedCredential {
        let caller = try fetch(role.caller).credential
        var form = [
            (name: "RoleArn", value: role.roleARN),
            ("RoleSessionName", sessionName(role.sessionName)),
            ("DurationSeconds", "\(role.seconds)"),
        ]
        if let policy = role.policy { form.append(("Policy", policy)) }
        if let id = role.externalID { form.append(("ExternalId", id)) }
        let call = STSCall(
            action: "AssumeRole",
            subject: role.roleARN,
            form: form,
            caller: caller
        )
        return try ask(call, role.access)
    }

    func assume(_ role: OIDCRole) throws(SourceProblem) -> SuppliedCredential {
        let roleARN = try setting(role.roleARN, "role_arn", "ALIBABA_CLOUD_ROLE_ARN")
        let provider = try setting(
            role.providerARN,
            "oidc_provider_arn",
            "ALIBABA_CLOUD_OIDC_PROVIDER_ARN"
        )
        let path = try setting(
            role.tokenFile,
            "oidc_token_file",
            "ALIBABA_CLOUD_OIDC_TOKEN_FILE"
        )
        let token = try oidcToken(path)
        var form = [
            (name: "RoleArn", value: roleARN), ("OIDCProviderArn", provider),
            ("OIDCToken", token.revealed),
            ("RoleSessionName", sessionName(role.sessionName)),
            ("DurationSeconds", "\(role.seconds)"),
        ]
        if let policy = role.policy { form.append(("Policy", policy)) }
        let call = STSCall(
            action: "AssumeRoleWithOIDC",
            subject: roleARN,
            form: form,
            proof: token
        )
        return try ask(call, role.access)
    }

    /// Read each time, because the kubelet replaces the token long before it expires.
    private func oidcToken(_ path: String) throws(SourceProblem) -> Secret {
        let content = try fileContent(path)
        let isSpace = { (byte: UInt8) in byte <= 0x20 }
        let start = content.bytes.drop(while: isSpace)
        let end = start.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start.startIndex
        let token = content.bytes.withUnsafeBytes { bytes in
            Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[start.startIndex..<end]))
        }
        guard (4...20_000).contains(token.byteCount),
            token.withBytes({ $0.allSatisfy { $0 > 0x20 && $0 < 0x7f } })
        else {
            throw SourceProblem(
                .temporary,
                "the file \(path) does not hold an OIDC token",
                remedy: "check that it is the projected token of the service account"
            )
        }
        return token
    }

    private func setting(
        _ value: String?,
        _ key: String,
        _ variable: String
    ) throws(SourceProblem) -> String {
        guard let value = value ?? surroundings.variable(variable) else {
            throw SourceProblem(
                .permanent,
                "the role for OIDC has no \(key)",
                remedy: "set it, or \(variable); ACK sets the variable for pods with RRSA"
            )
        }
        return value
    }

    private func sessionName(_ name: String?) -> String {
        name ?? surroundings.variable("ALIBABA_CLOUD_ROLE_SESSION_NAME") ?? "sluice"
    }
}
