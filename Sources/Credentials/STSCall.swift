package import Crypto
import SLS
import System

/// One call to STS.
struct STSCall: CustomStringConvertible, CustomReflectable {
    let action: String
    /// The subject of the action, for messages: a role.
    let subject: String
    let form: [(name: String, value: String)]
    /// nil: the call is unsigned, and the form proves the caller.
    var caller: Credential?
    /// A secret in the form, to be redacted besides the caller's.
    var proof: Secret?

    var origin: String { "STS \(action) \(subject)" }

    /// The query holds the common parameters and the form the others; the signature covers both.
    func url(endpoint: String, time: WallTime, nonce: String) -> String {
        var query = [
            (name: "Action", value: action), ("Version", "2015-04-01"), ("Format", "JSON"),
            ("Timestamp", time.iso8601),
        ]
        if let caller {
            query += [
                ("SignatureMethod", "HMAC-SHA1"), ("SignatureVersion", "1.0"),
                ("SignatureNonce", nonce), ("AccessKeyId", caller.accessKeyID),
            ]
            if let token = caller.securityToken { query.append(("SecurityToken", token.revealed)) }
            let signature = RPCSignature.sign("POST", query + form, secret: caller.secret)
            query.append(("Signature", signature))
        }
        return "\(endpoint)/?\(RPCSignature.query(query))"
    }

    /// The form may hold a token.
    var description: String { origin }
    var customMirror: Mirror { Mirror(self, children: ["subject": subject]) }

    /// What STS may echo.
    var secrets: [Secret] { (caller?.secrets ?? []) + [proof].compactMap(\.self) }
}

/// Alibaba's RPC signature, version 1.0: HMAC-SHA1 over all parameters in order.
package enum RPCSignature {
    /// The value of the parameter `Signature`.
    package static func sign(
        _ method: String,
        _ parameters: [(name: String, value: String)],
        secret: Secret
    ) -> String {
        let text = stringToSign(method, parameters)
        return Digest.base64(secret.withKey(after: "&") { Digest.hmacSHA1(key: $0, text) })
    }

    static func stringToSign(
        _ method: String,
        _ parameters: [(name: String, value: String)]
    ) -> String {
        "\(method)&%2F&\(percentEncoded(query(parameters.sorted { $0.name < $1.name })))"
    }

    static func query(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }
            .joined(separator: "&")
    }
}

/// The meaning of STS's error codes. The first matching row counts.
struct STSRefusal {
    let code: String
    let kind: SourceProblem.Kind
    let remedy: String

    static let rows: [(code: String, kind: SourceProblem.Kind, remedy: String)] = [
        (
            "Throttling", .temporary,
            "none needed unless it lasts; then let fewer callers ask STS at once"
        ),
        ("InvalidParameter.RoleArn", .permanent, "write role_arn as acs:ram::ACCOUNT:role/NAME"),
        (
            "InvalidParameter.RoleSessionName", .permanent,
            "give a session_name of 2 to 32 letters, digits and . @ - _"
        ),
        (
            "InvalidParameter.DurationSeconds", .permanent,
            "set duration from 15m up to the role's longest session"
        ),
        (
            "InvalidParameter.PolicyGrammar", .permanent,
            "correct policy: it is JSON as RAM writes it"
        ),
        (
            "InvalidParameter.PolicySize", .permanent,
            "shorten policy; older accounts allow 1024 characters"
        ),
        ("InvalidParameter", .permanent, "correct the setting that STS names"),
        (
            "InvalidAccessKeyId", .permanent,
            "check the access key of the caller: it must exist and be enabled"
        ),
        (
            "SignatureDoesNotMatch", .permanent,
            "enter the caller's complete secret again, without spaces"
        ),
        ("IncompleteSignature", .permanent, "make sure that no proxy on the way changes requests"),
        ("InvalidTimeStamp", .temporary, "synchronise the host's clock (NTP)"),
        ("SignatureNonceUsed", .temporary, "none needed unless it lasts"),
        (
            "MissingSecurityToken", .permanent,
            "the caller's key is a temporary one: give its security token as well"
        ),
        ("InvalidSecurityToken", .permanent, "renew the caller's security token"),
        (
            "NoPermission", .permanent,
            "allow the caller sts:AssumeRole (AliyunSTSAssumeRoleAccess), and name it in the trust policy of the role"
        ),
        ("EntityNotExist.Role", .permanent, "create the role, or correct role_arn"),
        ("EntityNotExist", .permanent, "create the missing resource, or correct its name"),
        ("InternalError", .temporary, "none needed unless it lasts"),
        ("ServiceUnavailable", .temporary, "none needed unless it lasts"),
        (
            "AuthenticationFail.NoPermission", .permanent,
            "register the cluster's OIDC provider with RAM, and trust it and this service account in the role"
        ),
        (
            "AuthenticationFail.OIDCToken.Expired", .temporary,
            "check that the kubelet still renews the token's file, and the host's clock"
        ),
        (
            "AuthenticationFail.OIDCToken.AudienceNotMatch", .permanent,
            "project the token for the audience that the OIDC provider expects (sts.aliyuncs.com)"
        ),
        (
            "AuthenticationFail.OIDCToken.InvalidSignature", .permanent,
            "check that oidc_provider_arn is that of this cluster"
        ),
        (
            "AuthenticationFail.OIDCToken.HttpsUrlInvalid", .permanent,
            "check the issuer's address of the OIDC provider in RAM"
        ),
        (
            "AuthenticationFail", .permanent,
            "check that oidc_token_file holds the service account's token"
        ),
    ]

    init(code: String, status: Int) {
        self.code = code
        // "NoPermission" also matches "NoPermission.Something".
        if let row = Self.rows.first(where: { code == $0.code || code.hasPrefix($0.code + ".") }) {
            (kind, remedy) = (row.kind, row.remedy)
        } else if status >= 500 || status == 429 || status == 408 {
            (kind, remedy) = (.temporary, "none needed unless it lasts")
        } else {
            (kind, remedy) = (.permanent, "look the code up in the documentation of STS")
        }
    }
}

extension STSAccess {
    /// "https://sts.cn-hangzhou.aliyuncs.com". The request proves the caller's key, so plain http
    /// is allowed only to this machine.
    func url(_ context: SourceContext) throws(SourceProblem) -> String {
        if let given = endpoint ?? context.stsEndpoint {
            guard let place = try? Endpoint(parsing: given),
                place.scheme == .https || place.isLoopback
            else {
                throw .permanent(
                    "the STS endpoint '\(given)' cannot be used",
                    remedy:
                        "write it as sts.cn-hangzhou.aliyuncs.com; plain http is allowed for this machine only"
                )
            }
            return place.description
        }
        guard let region = region ?? context.variable("ALIBABA_CLOUD_STS_REGION") else {
            guard isVPC != true else {
                throw .permanent(
                    "the STS endpoint of the VPC needs a region",
                    remedy: "set sts_region, or ALIBABA_CLOUD_STS_REGION"
                )
            }
            return "https://sts.aliyuncs.com"
        }
        if let problem = NamePattern.region.problem(with: region) {
            throw .permanent(
                "STS cannot be reached: \(problem)",
                remedy: "correct sts_region or ALIBABA_CLOUD_STS_REGION"
            )
        }
        let isVPC = isVPC ?? context.isSet("ALIBABA_CLOUD_VPC_ENDPOINT_ENABLED")
        return "https://sts\(isVPC ? "-vpc" : "").\(region).aliyuncs.com"
    }
}
