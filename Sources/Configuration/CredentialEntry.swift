import Credentials
import Crypto
import HTTPClient
import SLS
import System

/// The group `credentials.NAME` as the file has it. Its kind, `from`, says which of the keys it has.
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

    private var kind: String?
    private var accessKeyID: String?
    private var accessKeySecret: String?
    private var securityToken: String?
    private var file = FileSource()
    private var roleARN: String?
    private var caller = "environment"
    private var sessionName: String?
    private var duration: Duration?
    private var policy: String?
    private var externalID: String?
    private var providerARN: String?
    private var tokenFile: String?
    private var access = STSAccess()
    private var machine = ECSRole()
    private var isIMDSv1: Bool?
    private var uri: String?
    private var connectTimeout: Duration?
    private var totalTimeout: Duration?
    private var resolvers: ResolverRules = []

    static var settings: [Setting<CredentialEntry>] {
        Setting("from", \.kind, kindOfSource, default: "required") {
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
        Setting("role_arn", \.roleARN, .text(upTo: 256), default: "`ALIBABA_CLOUD_ROLE_ARN`") {
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
            \.providerARN,
            .text(upTo: 256),
            default: "`ALIBABA_CLOUD_OIDC_PROVIDER_ARN`"
        ) {
            "the identity provider of the cluster"
        }
        Setting("oidc_token_file", \.tokenFile, .path, default: "`ALIBABA_CLOUD_OIDC_TOKEN_FILE`") {
            "the projected token of the service account"
        }
        Setting(
            "session_name",
            \.sessionName,
            .text(upTo: 64),
            default: "`ALIBABA_CLOUD_ROLE_SESSION_NAME`, else `sluice`"
        ) {
            "shows in the audit trail"
        }
        // What STS allows at most; the role may allow less.
        Setting(
            "duration",
            \.duration,
            .duration(.seconds(900) ... .seconds(43_200)),
            default: "`1h`"
        ) {
            "from 15m up to the role's longest session"
        }
        Setting("policy", \.policy, .text(upTo: 2048)) {
            "JSON; narrows the role further"
        }
        Setting("external_id", \.externalID, .text(upTo: 1224)) {
            "if the role's trust policy requires one"
        }
        Setting("sts_endpoint", \.access.endpoint, .text(upTo: 256), default: "by the two below") {
            "another host; plain `http://` only on this machine"
        }
        Setting(
            "sts_region",
            \.access.region,
            .text(upTo: 64),
            default: "`ALIBABA_CLOUD_STS_REGION`"
        ) {
            "asks `sts.REGION.aliyuncs.com` instead of `sts.aliyuncs.com`"
        }
        Setting(
            "sts_vpc",
            \.access.isVPC,
            .boolean,
            default: "`ALIBABA_CLOUD_VPC_ENDPOINT_ENABLED`, else `false`"
        ) {
            "asks `sts-vpc.REGION.aliyuncs.com`"
        }
        Setting(
            "role_name",
            \.machine.roleName,
            .text(upTo: 64),
            default: "`ALIBABA_CLOUD_ECS_METADATA`, else the instance's answer"
        ) {
            "the RAM role of the instance"
        }
        Setting(
            "imds_v1",
            \.isIMDSv1,
            .boolean,
            default: "`false` when `ALIBABA_CLOUD_IMDSV1_DISABLED` is `true`, else `true`"
        ) {
            "continue without a token if the instance gives none"
        }
        Setting("uri", \.uri, .text(upTo: 4096), default: "`ALIBABA_CLOUD_CREDENTIALS_URI`") {
            """
            `http://` or `https://`; all four members of the JSON are needed. Shown as \
            scheme and host only
            """
        }
        Setting("connect_timeout", \.connectTimeout, times, default: "`5s`; `1s` for `ecs_role`") {
            "how long a connection may take"
        }
        Setting("timeout", \.totalTimeout, times, default: "`10s`; `3s` for `ecs_role`") {
            "how long the whole request may take"
        }
        Setting.resolve(\.resolvers)
    }

    private static var times: Kind<Duration> { .duration(.milliseconds(100) ... .seconds(60)) }

    private static var kindOfSource: Kind<String> {
        let names = kinds.map(\.key)
        let list = names.joined(separator: ", ")
        return Kind(wants: list, .choice(names)) { text throws(Mismatch) in
            guard names.contains(text) else {
                throw Mismatch("\(quoted(text)) is not one of \(list)")
            }
            return text
        }
    }

    /// `caller` becomes the other credential that it stands on, also where the rest is wrong.
    static func read(_ given: consuming Section, caller: inout String?) -> CredentialSource? {
        var section = given
        var entry = CredentialEntry()
        entry.readSettings(&section, only: ["from"])
        guard let kind = entry.kind, let keys = kinds.first(where: { $0.key == kind })?.value else {
            if !section.has("from") {
                let others = kinds.map(\.key).dropFirst().joined(separator: ", ")
                section.problem("from", "is missing; write from: environment, or one of \(others)")
            }
            // No key belongs to an unknown kind.
            return nil
        }
        entry.readSettings(&section, only: keys)
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
        case "oidc_role":
            var role = OIDCRole()
            role.roleARN = roleARN
            role.providerARN = providerARN
            role.tokenFile = tokenFile
            role.sessionName = sessionName
            if let duration { role.seconds = Int(duration.components.seconds) }
            role.policy = policy
            role.access = access(.sts)
            return .oidcRole(role)
        case "ecs_role":
            var role = machine
            role.isTokenRequired = isIMDSv1.map { !$0 }
            role.limits = limits(.metadata)
            return .ecsRole(role)
        case "uri":
            var source = URISource(uri: uri.map { Secret($0) })
            source.limits = limits(.sts)
            source.resolvers = resolvers
            return .uri(source)
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
        let arn = roleARN ?? section.report.inputs.variable("ALIBABA_CLOUD_ROLE_ARN")
        if arn?.isEmpty ?? !section.has("role_arn") {
            section.problem(
                "role_arn",
                "is missing; it looks like acs:ram::1234567890123456:role/log-writer"
            )
        }
        var role = AssumeRole(
            roleARN: arn ?? "",
            caller: caller == "environment" ? .environment : .named(caller)
        )
        role.sessionName = sessionName
        if let duration { role.seconds = Int(duration.components.seconds) }
        role.policy = policy
        role.externalID = externalID
        role.access = access(.sts)
        return .assumeRole(role)
    }

    private func access(_ usual: WebLimits) -> STSAccess {
        var access = access
        access.limits = limits(usual)
        access.resolvers = resolvers
        return access
    }

    private func limits(_ usual: WebLimits) -> WebLimits {
        WebLimits(
            connect: connectTimeout ?? usual.connect,
            total: totalTimeout ?? usual.total
        )
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
