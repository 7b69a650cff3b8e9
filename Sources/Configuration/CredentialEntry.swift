import Credentials
import Crypto
import HTTPClient
import SLS
import System

/// The group `credentials.NAME` as the file has it. Its kind, `from`, says which of the keys it
/// has.
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
        Setting("from", \.kind, .choice(kinds.map { ($0.key, $0.key) }), default: "required") {
            """
            `environment`, `static`, `file`, `admin`, `assume_role`, `oidc_role`, `ecs_role`, `uri` or \
            `chain`
            """
        }
        Setting("access_key_id", \.accessKeyID, .text(upTo: 256), default: "required") {
            "best from `${file:…}`"
        }
        Setting("access_key_secret", \.accessKeySecret, .text(upTo: 1024), default: "required") {
            "best from `${file:…}`"
        }
        Setting("security_token", \.securityToken, .text(upTo: 16 << 10)) {
            "the third part of an STS credential, best from `${file:…}`"
        }
        Setting(
            "path",
            \.file.path,
            .path,
            default: "`ALIBABA_CLOUD_CREDENTIALS_FILE`, else `~/.alibabacloud/credentials`"
        ) { "the content shows the form" }
        Setting(
            "profile",
            \.file.profile,
            .text(upTo: 128),
            default: "`ALIBABA_CLOUD_PROFILE`, else the file's `current`, else `default`"
        ) { "for files with several" }
        Setting("role_arn", \.role.roleARN, .text(upTo: 256), default: "`ALIBABA_CLOUD_ROLE_ARN`") {
            "`acs:ram::ACCOUNT:role/NAME`"
        }
        Setting("source", \.caller, .text(upTo: 64)) {
            """
            the key that requests the role: the name of another credential, or `environment`; it may \
            be a temporary key
            """
        }
        Setting(
            "oidc_provider_arn",
            \.role.providerARN,
            .text(upTo: 256),
            default: "`ALIBABA_CLOUD_OIDC_PROVIDER_ARN`"
        ) { "the identity provider of the cluster" }
        Setting(
            "oidc_token_file",
            \.role.tokenFile,
            .path,
            default: "`ALIBABA_CLOUD_OIDC_TOKEN_FILE`"
        ) { "the projected token of the service account" }
        Setting(
            "session_name",
            \.role.sessionName,
            .text(upTo: 64),
            default: "`ALIBABA_CLOUD_ROLE_SESSION_NAME`, else `sluice`"
        ) { "shows in the audit trail" }
        // What STS allows at most; the role may allow less.
        Setting(
            "duration",
            \.duration,
            .duration(.seconds(900) ... .seconds(43_200)),
            default: "`1h`"
        ) { "from 15m up to the role's longest session" }
        Setting("policy", \.role.policy, .text(upTo: 2048)) { "JSON; narrows the role further" }
        Setting("external_id", \.externalID, .text(upTo: 1224)) {
            "if the role's trust policy requires one"
        }
        Setting(
            "sts_endpoint",
            \.role.access.endpoint,
            .text(upTo: 256),
            default: "by the two below"
        ) { "another host; plain `http://` only on this machine" }
        Setting(
            "sts_region",
            \.role.access.region,
            .text(upTo: 64),
            default: "`ALIBABA_CLOUD_STS_REGION`"
        ) { "asks `sts.REGION.aliyuncs.com` instead of `sts.aliyuncs.com`" }
        Setting(
            "sts_vpc",
            \.role.access.isVPC,
            .boolean,
            default: "`ALIBABA_CLOUD_VPC_ENDPOINT_ENABLED`, else `false`"
        ) { "asks `sts-vpc.REGION.aliyuncs.com`" }
        Setting(
            "role_name",
            \.machine.roleName,
            .text(upTo: 64),
            default: "`ALIBABA_CLOUD_ECS_METADATA`, else the instance's answer"
        ) { "the RAM role of the instance" }
        Setting(
            "imds_v1",
            \.isIMDSv1,
            .boolean,
            default: "`false` when `ALIBABA_CLOUD_IMDSV1_DISABLED` is `true`, else `true`"
        ) { "continue without a token if the instance gives none" }
        Setting("uri", \.uri, .text(upTo: 4096), default: "`ALIBABA_CLOUD_CREDENTIALS_URI`") {
            """
            `http://` or `https://`; all four members of the JSON are needed. Shown as \
            scheme and host only
            """
        }
        Setting(
            "connect_timeout",
            \.web.limits.connect,
            times,
            default: "`5s`; `1s` for `ecs_role`"
        ) { "how long a connection may take" }
        Setting("timeout", \.web.limits.total, times, default: "`10s`; `3s` for `ecs_role`") {
            "how long the whole request may take"
        }
        Setting.resolve(\.web.resolvers)
    }

    private static var times: Kind<Duration> { .duration(.milliseconds(100) ... .seconds(60)) }

    /// `caller` becomes the other credential that it stands on, also where the rest is wrong.
    static func read(_ given: consuming Section, caller: inout String?) -> CredentialSource? {
        var section = given
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
        if arn?.isEmpty ?? !section.has("role_arn") {
            section.problem(
                "role_arn",
                "is missing; it looks like acs:ram::1234567890123456:role/log-writer"
            )
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
        report.add(
            place,
            key: key,
            "the environment has no \(missing.joined(separator: " and no ")); set "
                + "\(missing.count == 1 ? "it" : "them"), describe a credential with from: static, "
                + "or try without keys: sluice serve --sandbox"
        )
        return nil
    }
}
