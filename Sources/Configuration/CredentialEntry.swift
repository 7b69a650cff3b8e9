import Credentials
import Crypto
import HTTPClient
import SLS
import System

/// The group `credentials`: sources by name, and the encryption key.
struct CredentialsGroup: SettingGroup {
    private static let encryptionKey = "encryption_key"

    private var key: String?

    static var settings: [Setting<CredentialsGroup>] {
        Setting(encryptionKey, \.key, .text(upTo: 1024)) {
            "a key or a long passphrase that encrypts pushed credentials on disk; without it, they "
            "are gone after a restart"
        }
    }

    /// Reads the credentials and sees to it that each one in use exists.
    static func read(
        _ section: consuming Section,
        usedBy destinations: [DescribedDestination]
    ) -> (sources: [String: CredentialSource], encryptionKey: Secret?) {
        let report = section.report
        var entry = CredentialsGroup()
        entry.readSettings(&section)
        let key = entry.sealingKey(section)
        var credentials: [String: CredentialSource] = [:]
        let names = section.names.filter { $0 != encryptionKey }
        // Also those of credentials that are wrong otherwise.
        var callers: [String: String] = [:]
        for name in names {
            credentials[name] = CredentialEntry.read(section.section(name), caller: &callers[name])
        }
        for name in names {
            guard let caller = callers[name] else { continue }
            if !names.contains(caller) || caller == name {
                section.problem(name) {
                    "its source \(caller) \(caller == name ? "is itself" : "is no credential here")"
                }
            } else if let circle = circle(from: name, callers) {
                section.problem(name, "it stands on itself: \(circle.joined(separator: ", by "))")
            }
        }
        section.refuseOthers()
        guard !report.inputs.isSandboxed else { return (credentials, key) }
        for destination in destinations {
            guard let credential = destination.credential, !names.contains(credential) else {
                continue
            }
            guard credential == "default" else {
                let hint = nearMiss(credential, among: names).map { "; did you mean \($0)?" }
                report.add(
                    destination.credentialPlace,
                    key: "destinations.\(destination.name).credential",
                    "there is no credential named \(credential)\(hint ?? "")"
                )
                continue
            }
            // Without a description, the source is where Alibaba's own tools look.
            if credentials["default"] == nil { credentials["default"] = .undescribed(report) }
        }
        return (credentials, key)
    }

    /// The circle of roles from this name back to it; nil: it is in none.
    private static func circle(from name: String, _ callers: [String: String]) -> [String]? {
        var path = [name]
        while let next = callers[path[path.count - 1]] {
            if next == name { return path + [next] }
            // Another's circle, which is told of those that are in it.
            if path.contains(next) { return nil }
            path.append(next)
        }
        return nil
    }

    private func sealingKey(_ section: borrowing Section) -> Secret? {
        guard let key else { return nil }
        guard !key.isEmpty else {
            section.problem(
                Self.encryptionKey,
                "is empty; give the key, or leave the line out to keep what is pushed in memory only"
            )
            return nil
        }
        let secret = Secret(key)
        do throws(SecretBoxProblem) {
            _ = try SealingKey(secret)
            return secret
        } catch {
            section.problem(Self.encryptionKey, error.description)
            return nil
        }
    }
}

/// The group `credentials.NAME`. Its kind, `from`, decides which keys it has.
struct CredentialEntry: SettingGroup {
    private static let access = [
        "sts_endpoint", "sts_region", "sts_vpc", "connect_timeout", "timeout", "resolve",
    ]
    /// The keys of each kind beside `from`.
    static let kinds: KeyValuePairs<String, [String]> = [
        "environment": [],
        "static": ["access_key_id", "access_key_secret", "security_token"],
        "file": ["path", "profile"],
        "admin": [],
        "assume_role": [
            "role_arn", "source", "session_name", "duration", "policy", "external_id",
        ] + access,
        "oidc_role": [
            "role_arn", "oidc_provider_arn", "oidc_token_file", "session_name", "duration",
            "policy",
        ] + access,
        "ecs_role": ["role_name", "imds_v1", "connect_timeout", "timeout"],
        "uri": ["uri", "connect_timeout", "timeout", "resolve"],
        "chain": [],
    ]

    private var kind = ""
    private var accessKeyID: String?
    private var accessKeySecret: String?
    private var securityToken: String?
    private var file = FileSource()
    /// Also what `assume_role` has in common with it.
    private var role = OIDCRole()
    private var caller = "environment"
    private var externalID: String?
    private var machine = ECSRole()
    private var isIMDSv1: Bool?
    private var web = URISource()

    private var duration: Duration {
        get { .seconds(role.seconds) }
        set { role.seconds = Int(newValue.components.seconds) }
    }

    private var uri: String? {
        get { web.uri?.revealed }
        set { web.uri = newValue.map { Secret($0) } }
    }

    static var settings: [Setting<CredentialEntry>] {
        Setting("from", \.kind, .choice(kinds.map { ($0.key, $0.key) })) {
            "`environment`, `static`, `file`, `admin`, `assume_role`, `oidc_role`, `ecs_role`, "
            "`uri` or `chain`"
        }
        .default("required")
        Setting("access_key_id", \.accessKeyID, .text(upTo: 256)) { "best from `${file:…}`" }
            .default("required")
        Setting("access_key_secret", \.accessKeySecret, .text(upTo: 1024)) {
            "best from `${file:…}`"
        }
        .default("required")
        Setting("security_token", \.securityToken, .text(upTo: 16 << 10)) {
            "the third part of an STS credential, best from `${file:…}`"
        }
        Setting("path", \.file.path, .path) { "the content shows the form" }
            .default("`ALIBABA_CLOUD_CREDENTIALS_FILE`, else `~/.alibabacloud/credentials`")
        Setting("profile", \.file.profile, .text(upTo: 128)) { "for files with several" }
            .default("`ALIBABA_CLOUD_PROFILE`, else the file's `current`, else `default`")
        Setting("role_arn", \.role.roleARN, .text(upTo: 256)) { "`acs:ram::ACCOUNT:role/NAME`" }
            .default("`ALIBABA_CLOUD_ROLE_ARN`")
        Setting("source", \.caller, .text(upTo: 64)) {
            "the key that requests the role: the name of another credential, or `environment`; it "
            "may be a temporary key"
        }
        Setting("oidc_provider_arn", \.role.providerARN, .text(upTo: 256)) {
            "the identity provider of the cluster"
        }
        .default("`ALIBABA_CLOUD_OIDC_PROVIDER_ARN`")
        Setting("oidc_token_file", \.role.tokenFile, .path) {
            "the projected token of the service account"
        }
        .default("`ALIBABA_CLOUD_OIDC_TOKEN_FILE`")
        Setting("session_name", \.role.sessionName, .text(upTo: 64)) { "shows in the audit trail" }
            .default("`ALIBABA_CLOUD_ROLE_SESSION_NAME`, else `sluice`")
        // What STS allows at most; the role may allow less.
        Setting("duration", \.duration, .duration(.seconds(900) ... .seconds(43_200))) {
            "from 15m up to the role's longest session"
        }
        .default("`1h`")
        Setting("policy", \.role.policy, .text(upTo: 2048)) { "JSON; narrows the role further" }
        Setting("external_id", \.externalID, .text(upTo: 1224)) {
            "if the role's trust policy requires one"
        }
        Setting("sts_endpoint", \.role.access.endpoint, .text(upTo: 256)) {
            "another host; plain `http://` only on this machine"
        }
        .default("by the two below")
        Setting("sts_region", \.role.access.region, .text(upTo: 64)) {
            "asks `sts.REGION.aliyuncs.com` instead of `sts.aliyuncs.com`"
        }
        .default("`ALIBABA_CLOUD_STS_REGION`")
        Setting("sts_vpc", \.role.access.isVPC, .boolean) { "asks `sts-vpc.REGION.aliyuncs.com`" }
            .default("`ALIBABA_CLOUD_VPC_ENDPOINT_ENABLED`, else `false`")
        Setting("role_name", \.machine.roleName, .text(upTo: 64)) { "the RAM role of the instance" }
            .default("`ALIBABA_CLOUD_ECS_METADATA`, else the instance's answer")
        Setting("imds_v1", \.isIMDSv1, .boolean) {
            "continue without a token if the instance gives none"
        }
        .default("`false` when `ALIBABA_CLOUD_IMDSV1_DISABLED` is `true`, else `true`")
        Setting("uri", \.uri, .text(upTo: 4096)) {
            "`http://` or `https://`; all four members of the JSON are needed. Shown as scheme and "
            "host only"
        }
        .default("`ALIBABA_CLOUD_CREDENTIALS_URI`")
        Setting("connect_timeout", \.web.limits.connect, times) { "how long a connection may take" }
            .default("`5s`; `1s` for `ecs_role`")
        Setting("timeout", \.web.limits.total, times) { "how long the whole request may take" }
            .default("`10s`; `3s` for `ecs_role`")
        Setting.resolve(\.web.resolvers)
    }

    private static var times: Kind<Duration> { .duration(.milliseconds(100) ... .seconds(60)) }

    /// `caller` becomes the other credential that it stands on, also where the rest is wrong.
    static func read(_ section: consuming Section, caller: inout String?) -> CredentialSource? {
        var entry = CredentialEntry()
        guard let (kind, keys) = entry.readKind("from", \.kind, of: kinds, &section) else {
            if !section.has("from") {
                let others = kinds.map(\.key).dropFirst().joined(separator: ", ")
                section.problem("from", "is missing; write from: environment, or one of \(others)")
            }
            // No key belongs to an unknown kind.
            return nil
        }
        if kind == "ecs_role" { entry.web.limits = .metadata }
        entry.readSettings(&section, only: keys)
        entry.role.access.limits = entry.web.limits
        entry.role.access.resolvers = entry.web.resolvers
        let source = entry.source(kind, section)
        caller = source?.callerName
        for problem in source?.problems ?? []
        where !section.report.hasProblem(with: section.keyPath(problem.key)) {
            section.problem(problem.key, problem.what)
        }
        section.refuseOthers()
        return source
    }

    private func source(_ kind: String, _ section: borrowing Section) -> CredentialSource? {
        switch kind {
        case "environment":
            let report = section.report
            guard !report.inputs.isSandboxed else { return nil }
            let key = section.keyPath("from")
            return .environment(report, at: section.place(of: "from"), key: key)
        case "static": return fixed(section)
        case "file": return .file(file)
        case "admin": return .admin
        case "assume_role": return assumeRole(section)
        case "oidc_role": return .oidcRole(role)
        case "ecs_role":
            var role = machine
            role.isTokenRequired = isIMDSv1.map { !$0 }
            role.limits = web.limits
            return .ecsRole(role)
        case "uri": return .uri(web)
        default: return .chain
        }
    }

    private func fixed(_ section: borrowing Section) -> CredentialSource? {
        for (key, value) in [
            ("access_key_id", accessKeyID), ("access_key_secret", accessKeySecret),
        ]
        where value?.isEmpty ?? !section.has(key) {
            section.problem(key, "is missing or empty; a static credential needs it")
        }
        guard let accessKeyID, let accessKeySecret else { return nil }
        return .fixed(
            Credential(
                accessKeyID: accessKeyID,
                secret: Secret(accessKeySecret),
                securityToken: securityToken.flatMap { $0.isEmpty ? nil : Secret($0) }
            )
        )
    }

    private func assumeRole(_ section: borrowing Section) -> CredentialSource {
        let arn = role.roleARN ?? section.report.inputs.variable("ALIBABA_CLOUD_ROLE_ARN")
        section.problem("role_arn", if: arn?.isEmpty ?? !section.has("role_arn")) {
            "is missing; it looks like acs:ram::1234567890123456:role/log-writer"
        }
        var assumed = AssumeRole(
            roleARN: arn ?? "",
            caller: caller == "environment" ? .environment : .named(caller)
        )
        assumed.sessionName = role.sessionName
        assumed.seconds = role.seconds
        assumed.policy = role.policy
        assumed.externalID = externalID
        assumed.access = role.access
        return .assumeRole(assumed)
    }
}

extension CredentialSource {
    /// The other credential of the configuration that it stands on.
    fileprivate var callerName: String? {
        guard case .assumeRole(let role) = self, case .named(let name) = role.caller else {
            return nil
        }
        return name
    }

    /// What an environment holds that has no `credentials` for it.
    static func undescribed(_ report: ProblemReport) -> CredentialSource? {
        let inputs = report.inputs
        let elsewhere = [
            "ALIBABA_CLOUD_OIDC_TOKEN_FILE", "ALIBABA_CLOUD_ECS_METADATA",
            "ALIBABA_CLOUD_CREDENTIALS_URI", "ALIBABA_CLOUD_CREDENTIALS_FILE",
        ]
        if inputs.variable("ALIBABA_CLOUD_ACCESS_KEY_ID") == nil,
            elsewhere.contains(where: { inputs.variable($0) != nil })
        {
            return .chain
        }
        return environment(report, at: .whole, key: "")
    }

    fileprivate static func environment(
        _ report: ProblemReport,
        at place: ConfigurationProblem.Place,
        key: String
    ) -> CredentialSource? {
        let names = ["ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET"]
        let missing = names.filter { report.inputs.variable($0) == nil }
        guard !missing.isEmpty else { return .environment }
        report.add(place, key: key) {
            "the environment has no \(missing.joined(separator: " and no ")); set "
            "\(missing.count == 1 ? "it" : "them"), describe a credential with from: static, or "
            "try without keys: sluice serve --sandbox"
        }
        return nil
    }
}
