import Credentials
import Crypto
import HTTPClient
import SLS
import System

// Roles, whose credentials STS and the machine's metadata give.
extension CredentialSource {
    /// The other credential of the configuration that it stands on.
    var callerName: String? {
        guard case .assumeRole(let role) = self, case .named(let name) = role.caller else {
            return nil
        }
        return name
    }

    static func readAssumeRole(_ section: inout Section) -> CredentialSource? {
        let given = section.value("role_arn", .text(upTo: 256))
        let arn = given ?? section.report.inputs.variable("ALIBABA_CLOUD_ROLE_ARN")
        if arn?.isEmpty ?? !section.has("role_arn") {
            section.problem(
                "role_arn",
                "is missing; it looks like acs:ram::1234567890123456:role/log-writer"
            )
        }
        let caller = section.value("source", .text(upTo: 64)) ?? "environment"
        var role = AssumeRole(
            roleARN: arn ?? "",
            caller: caller == "environment" ? .environment : .named(caller)
        )
        role.sessionName = section.value("session_name", .text(upTo: 64))
        if let seconds = readDuration(&section) { role.seconds = seconds }
        role.policy = section.value("policy", .text(upTo: 2048))
        role.externalID = section.value("external_id", .text(upTo: 1224))
        role.access = readAccess(&section)
        return .assumeRole(role)
    }

    static func readOIDCRole(_ section: inout Section) -> OIDCRole {
        var role = OIDCRole()
        role.roleARN = section.value("role_arn", .text(upTo: 256))
        role.providerARN = section.value("oidc_provider_arn", .text(upTo: 256))
        role.tokenFile = section.value("oidc_token_file", .path)
        role.sessionName = section.value("session_name", .text(upTo: 64))
        if let seconds = readDuration(&section) { role.seconds = seconds }
        role.policy = section.value("policy", .text(upTo: 2048))
        role.access = readAccess(&section)
        return role
    }

    static func readECSRole(_ section: inout Section) -> ECSRole {
        var role = ECSRole()
        role.roleName = section.value("role_name", .text(upTo: 64))
        role.isTokenRequired = section.value("imds_v1", .boolean).map { !$0 }
        role.limits = readLimits(&section, .metadata)
        return role
    }

    static func readURI(_ section: inout Section) -> URISource {
        var source = URISource(uri: section.value("uri", .text(upTo: 4096)).map { Secret($0) })
        source.limits = readLimits(&section, .sts)
        return source
    }

    /// What STS allows at most; the role may allow less.
    private static func readDuration(_ section: inout Section) -> Int? {
        section.value("duration", .duration(.seconds(900) ... .seconds(43_200))).map {
            Int($0.components.seconds)
        }
    }

    private static func readAccess(_ section: inout Section) -> STSAccess {
        STSAccess(
            endpoint: section.value("sts_endpoint", .text(upTo: 256)),
            region: section.value("sts_region", .text(upTo: 64)),
            isVPC: section.value("sts_vpc", .boolean),
            limits: readLimits(&section, .sts)
        )
    }

    private static func readLimits(_ section: inout Section, _ usual: WebLimits) -> WebLimits {
        let times: Kind<Duration> = .duration(.milliseconds(100) ... .seconds(60))
        return WebLimits(
            connect: section.value("connect_timeout", times) ?? usual.connect,
            total: section.value("timeout", times) ?? usual.total
        )
    }
}
