package import Crypto
package import HTTPClient
package import SLS
package import System

/// The configured source of a credential. Equal values are the same source, and a reload leaves it
/// alone.
package indirect enum CredentialSource: Sendable, Equatable {
    /// `ALIBABA_CLOUD_ACCESS_KEY_ID` and the variables beside it.
    case environment
    /// Written in the configuration.
    case fixed(Credential)
    /// Another credential of the table, by name.
    case named(String)
    case file(FileSource)
    /// Pushed through the admin listener; there is no credential before that.
    case admin
    case assumeRole(AssumeRole)
    case oidcRole(OIDCRole)
    case ecsRole(ECSRole)
    case uri(URISource)
    /// Alibaba's default order of sources.
    case chain

    /// The name in the configuration.
    package var kind: String {
        switch self {
        case .environment: "environment"
        case .fixed: "static"
        case .named: "named"
        case .file: "file"
        case .admin: "admin"
        case .assumeRole: "assume_role"
        case .oidcRole: "oidc_role"
        case .ecsRole: "ecs_role"
        case .uri: "uri"
        case .chain: "chain"
        }
    }

    /// True if the source needs a thread: its credential can change by itself, or needs more than
    /// memory to read.
    var needsThread: Bool {
        switch self {
        case .environment, .fixed, .admin: false
        default: true
        }
    }

    /// The other credential of the table that this source uses.
    var caller: String? {
        switch self {
        case .named(let name): name
        case .assumeRole(let role): role.caller.caller
        default: nil
        }
    }

    /// All problems that show without contacting anything.
    package var problems: [SettingProblem] {
        switch self {
        case .assumeRole(let role):
            Self.roleProblems(
                role.roleARN,
                session: role.sessionName,
                seconds: role.seconds,
                policy: role.policy
            ) + Self.externalIDProblems(role.externalID) + role.access.problems
        case .oidcRole(let role):
            Self.roleProblems(
                role.roleARN,
                session: role.sessionName,
                seconds: role.seconds,
                policy: role.policy
            ) + role.access.problems
        case .ecsRole(let role):
            if let name = role.roleName, !ECSRole.isRoleName(name) {
                [SettingProblem(key: "role_name", what: "is not the name of a RAM role")]
            } else {
                []
            }
        case .uri(let source):
            if let uri = source.uri, CredentialFetch.shownPlace(uri) == nil {
                [SettingProblem(key: "uri", what: "is neither http:// nor https:// in plain ASCII")]
            } else {
                []
            }
        default: []
        }
    }

    private static func roleProblems(
        _ roleARN: String?,
        session sessionName: String?,
        seconds: Int,
        policy: String?
    ) -> [SettingProblem] {
        var problems: [SettingProblem] = []
        if let roleARN, !isRoleARN(roleARN) {
            problems.append(
                .init(key: "role_arn", what: "is not like acs:ram::1234567890123456:role/NAME")
            )
        }
        if let sessionName, !isSessionName(sessionName) {
            problems.append(
                .init(key: "session_name", what: "is not 2 to 64 letters, digits and . @ - _")
            )
        }
        if !(900...43_200).contains(seconds) {
            problems.append(.init(key: "duration", what: "is not from 15m to 12h"))
        }
        if let policy, !(1...2048).contains(policy.utf8.count) || !policy.contains("{") {
            problems.append(.init(key: "policy", what: "is not JSON of up to 2048 characters"))
        }
        return problems
    }

    private static func externalIDProblems(_ id: String?) -> [SettingProblem] {
        guard let id, !(2...1224).contains(id.utf8.count) else { return [] }
        return [.init(key: "external_id", what: "is not 2 to 1224 characters long")]
    }

    private static func isRoleARN(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 5 && parts[0] == "acs" && parts[1] == "ram" && parts[2].isEmpty
            && !parts[3].isEmpty && parts[3].utf8.allSatisfy { (0x30...0x39).contains($0) }
            && parts[4].hasPrefix("role/") && parts[4].utf8.count > 5
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
    }

    private static func isSessionName(_ text: String) -> Bool {
        (2...64).contains(text.utf8.count)
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII
                    && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil
                        || ".@-_".unicodeScalars.contains(scalar))
            }
    }
}

/// A file with a credential: JSON as STS answers it, the SDKs' ini file, or the command line tool's
/// `config.json`. The content shows which.
package struct FileSource: Sendable, Equatable {
    /// nil: the SDKs' default ini file.
    package var path: String?
    /// For files with several profiles; nil: the profile in `ALIBABA_CLOUD_PROFILE`, or the file's
    /// default.
    package var profile: String?

    package init(path: String? = nil, profile: String? = nil) {
        self.path = path
        self.profile = profile
    }
}

/// The STS endpoint and its time limits.
package struct STSAccess: Sendable, Equatable {
    /// A host, or http:// with a loopback host; overrides region and network.
    package var endpoint: String?
    package var region: String?
    package var isVPC: Bool?
    package var limits = WebLimits.sts
    /// The resolvers of its host's addresses. Empty: the system.
    package var resolvers: ResolverRules = []

    var problems: [SettingProblem] {
        // The environment may name a region, so a missing region is reported only when STS is
        // called.
        if isVPC == true, region == nil, endpoint == nil { return [] }
        do throws(SourceProblem) {
            _ = try url(SourceContext(environment: [:]))
            return []
        } catch {
            return [.init(key: endpoint == nil ? "sts_region" : "sts_endpoint", what: error.what)]
        }
    }
}

package struct AssumeRole: Sendable, Equatable {
    package var roleARN: String
    /// The credential that asks for the role.
    package var caller: CredentialSource
    package var sessionName: String?
    package var seconds = 3600
    package var policy: String?
    package var externalID: String?
    package var access = STSAccess()

    package init(roleARN: String, caller: CredentialSource = .environment) {
        self.roleARN = roleARN
        self.caller = caller
    }
}

/// A pod's role (RRSA). Missing values come from the environment, where ACK puts them.
package struct OIDCRole: Sendable, Equatable {
    package var roleARN: String?
    package var providerARN: String?
    package var tokenFile: String?
    package var sessionName: String?
    package var seconds = 3600
    package var policy: String?
    package var access = STSAccess()

    package init() {}
}

/// The ECS instance's RAM role.
package struct ECSRole: Sendable, Equatable {
    /// nil: the name in `ALIBABA_CLOUD_ECS_METADATA`, or the one that the instance reports.
    package var roleName: String?
    /// nil: `ALIBABA_CLOUD_IMDSV1_DISABLED` decides.
    package var isTokenRequired: Bool?
    package var limits = WebLimits.metadata

    package init() {}
}

package struct URISource: Sendable, Equatable {
    /// nil: the value of `ALIBABA_CLOUD_CREDENTIALS_URI`. It may contain a key, so it is a secret.
    package var uri: Secret?
    package var limits = WebLimits.sts
    package var resolvers: ResolverRules = []

    package init(uri: Secret? = nil) {
        self.uri = uri
    }
}

extension WebLimits {
    package static let sts = WebLimits(connect: .seconds(5), total: .seconds(10))
    package static let metadata = WebLimits(connect: .seconds(1), total: .seconds(3))
}

/// An invalid setting: its key in the configuration and the problem.
package struct SettingProblem: Sendable, Equatable {
    package let key: String
    package let what: String
}
