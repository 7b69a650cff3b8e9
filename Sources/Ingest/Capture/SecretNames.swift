/// The names of fields, parameters and JSON members whose values are never kept: one list for refusals, captures and
/// their exports.
package enum SecretNames {
    private static let whole: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "apikey",
        "api-key", "api_key", "s", "sign", "ak", "key", "idempotency-key", "x-log-signature",
    ]
    private static let parts = [
        "token", "secret", "password", "passwd", "session", "credential", "signature", "accesskey",
        "access_key", "access-key", "authorization",
    ]

    package static func contains(_ name: some StringProtocol) -> Bool {
        let name = name.lowercased()
        return whole.contains(name) || parts.contains { name.contains($0) }
    }
}
