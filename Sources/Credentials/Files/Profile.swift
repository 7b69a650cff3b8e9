import Crypto
import SLS

/// One profile of a file: names and values as written.
struct Profile {
    /// "the profile 'default' of ~/.alibabacloud/credentials"
    let place: String
    let settings: [String: Secret]

    func text(_ names: String...) -> String? {
        for name in names {
            if let value = settings[name], value.byteCount > 0 { return value.revealed }
        }
        return nil
    }

    func secret(_ names: String...) -> Secret? {
        names.lazy.compactMap { settings[$0] }.first { $0.byteCount > 0 }
    }

    func needed(_ name: String, _ others: String...) throws(SourceProblem) -> String {
        for name in [name] + others {
            if let value = text(name) { return value }
        }
        throw missing(name)
    }

    func missing(_ name: String) -> SourceProblem {
        SourceProblem(.temporary, "\(place) has no \(name)", remedy: "complete it")
    }

    private enum Token { case needed, ifThere, leftBehind }

    /// The credential in the profile. Alibaba's tools leave an old token in a profile that was
    /// changed to a plain key, and do not send it.
    private func credential(_ tokenIs: Token) throws(SourceProblem) -> Credential {
        let id = try needed("access_key_id")
        guard let secret = self.secret("access_key_secret") else {
            throw missing("access_key_secret")
        }
        var token = self.secret("security_token", "sts_token")
        if tokenIs == .leftBehind, !Credential.isTemporary(id) { token = nil }
        guard token != nil || tokenIs != .needed else { throw missing("security_token") }
        return Credential(accessKeyID: id, secret: secret, securityToken: token)
    }

    var access: STSAccess {
        STSAccess(
            endpoint: text("sts_endpoint"),
            region: text("sts_region"),
            isVPC: text("enable_vpc").map { $0.lowercased() == "true" }
        )
    }

    /// The source that the profile's type or mode names. `base` finds the profile that another
    /// profile refers to.
    func source(
        _ base: (String) throws(SourceProblem) -> CredentialSource
    ) throws(SourceProblem) -> CredentialSource {
        guard let type = text("type", "mode") else { return .fixed(try credential(.ifThere)) }
        switch type.lowercased().filter({ $0 != "_" }) {
        case "accesskey", "ak":
            return .fixed(try credential(.leftBehind))
        case "sts", "ststoken":
            return .fixed(try credential(.needed))
        case "ramrolearn":
            return try assumeRole(.fixed(credential(.leftBehind)))
        case "chainableramrolearn":
            return try assumeRole(base(try needed("source_profile")))
        case "ecsramrole":
            var role = ECSRole()
            role.roleName = text("role_name", "ram_role_name")
            return .ecsRole(role)
        case "oidc", "oidcrolearn":
            var role = OIDCRole()
            role.roleARN = text("role_arn", "ram_role_arn")
            role.providerARN = text("oidc_provider_arn")
            role.tokenFile = text("oidc_token_file_path", "oidc_token_file")
            role.sessionName = text("role_session_name", "ram_session_name")
            role.seconds = seconds
            role.policy = text("policy")
            role.access = access
            return .oidcRole(role)
        case "credentialsuri":
            return .uri(URISource(uri: secret("credentials_uri")))
        default:
            throw SourceProblem(
                .permanent,
                "\(place) is of the type '\(type.prefix(32))', which Sluice cannot use",
                remedy:
                    "use access_key, sts, ram_role_arn, ecs_ram_role, oidc_role_arn or credentials_uri"
            )
        }
    }

    private func assumeRole(_ caller: CredentialSource) throws(SourceProblem) -> CredentialSource {
        var role = AssumeRole(roleARN: try needed("role_arn", "ram_role_arn"), caller: caller)
        role.sessionName = text("role_session_name", "ram_session_name")
        role.externalID = text("external_id")
        role.policy = text("policy")
        role.seconds = seconds
        role.access = access
        return .assumeRole(role)
    }

    private var seconds: Int {
        text("role_session_expiration", "expired_seconds").flatMap(Int.init)
            .map { $0 > 0 ? $0 : 3600 } ?? 3600
    }
}
