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
