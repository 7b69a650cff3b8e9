package import Crypto
package import HTTPClient
package import SLS

/// Where a credential comes from, as configured. A value: equal sources are the same source, and a
/// reload leaves them alone.
package indirect enum CredentialSource: Sendable, Equatable {
    /// `ALIBABA_CLOUD_ACCESS_KEY_ID` and its relatives.
    case environment
    /// Written in the configuration.
    case fixed(Credential)
    /// Another credential of the table, by name.
    case named(String)
    case file(FileSource)
    /// Pushed through the admin listener; there is none before that.
    case admin
    case assumeRole(AssumeRole)
    case oidcRole(OIDCRole)
    case ecsRole(ECSRole)
    case uri(URISource)
    /// Alibaba's default order.
    case chain

    /// As the configuration calls it.
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

    /// Whether it can change by itself, or needs more than memory to be read.
    var needsAttendant: Bool {
        switch self {
        case .environment, .fixed, .admin: false
        default: true
        }
    }

    /// The other credential of the table that it stands on.
    var caller: String? {
        switch self {
        case .named(let name): name
        case .assumeRole(let role): role.caller.caller
        default: nil
        }
    }
}

/// A file with a credential: JSON as STS answers it, the ini file of the SDKs, or the `config.json` of
/// the command line tool. Which one it is shows its content.
package struct FileSource: Sendable, Equatable {
    /// nil: the ini file where the SDKs have it.
    package var path: String?
    /// For files with several; nil: what `ALIBABA_CLOUD_PROFILE` names, or the file's own default.
    package var profile: String?

    package init(path: String? = nil, profile: String? = nil) {
        self.path = path
        self.profile = profile
    }
}

/// Which STS is asked, and how long.
package struct STSAccess: Sendable, Equatable {
    /// A host, or http:// with one of this machine; beats region and network.
    package var endpoint: String?
    package var region: String?
    package var isVPC: Bool?
    package var limits: WebLimits

    package init(
        endpoint: String? = nil,
        region: String? = nil,
        isVPC: Bool? = nil,
        limits: WebLimits = .sts
    ) {
        self.endpoint = endpoint
        self.region = region
        self.isVPC = isVPC
        self.limits = limits
    }
}

package struct AssumeRole: Sendable, Equatable {
    package var roleARN: String
    /// Who asks for the role.
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

/// A role for a pod (RRSA). What is nil comes from the environment, where ACK puts it.
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

/// The RAM role of the ECS instance.
package struct ECSRole: Sendable, Equatable {
    /// nil: what `ALIBABA_CLOUD_ECS_METADATA` names, or what the instance says.
    package var roleName: String?
    /// nil: as `ALIBABA_CLOUD_IMDSV1_DISABLED` says.
    package var isTokenRequired: Bool?
    package var limits = WebLimits.metadata

    package init() {}
}

package struct URISource: Sendable, Equatable {
    /// nil: what `ALIBABA_CLOUD_CREDENTIALS_URI` says. It may carry a key, so it is a secret.
    package var uri: Secret?
    package var limits = WebLimits.sts

    package init(uri: Secret? = nil) {
        self.uri = uri
    }
}

extension WebLimits {
    package static let sts = WebLimits(connect: .seconds(5), total: .seconds(10))
    package static let metadata = WebLimits(connect: .seconds(1), total: .seconds(3))
}
