/// The names of fields, parameters and JSON members whose values are never shown: one list for refusals, captures and
/// their exports.
package enum SecretNames {
    private static let whole: Set<String> = ["s", "sign", "ak", "key", "idempotencykey"]
    /// Parts of a name's letters and digits, so that `access_key`, `Access-Key` and `accessKeyId` are one.
    private static let parts = [
        "token", "secret", "password", "passwd", "passcode", "passphrase", "session", "credential",
        "signature", "accesskey", "apikey", "privatekey", "sluicekey", "authorization", "cookie",
    ]
    /// Whole words of a name, since `spin` and `author` are no secrets.
    private static let words: Set<String> = [
        "pwd", "pass", "jwt", "otp", "pin", "cvv", "cvc", "auth", "sig",
    ]

    package static func contains(_ name: some StringProtocol) -> Bool {
        var (joined, word) = ("", "")
        var wasSmall = false
        for scalar in name.unicodeScalars {
            let (isSmall, isCapital) = ("a"..."z" ~= scalar, "A"..."Z" ~= scalar)
            // A capital after a small letter begins a word (userPin). In PINCode the small o shows that C began one.
            if isCapital && wasSmall || !isSmall && !isCapital {
                if words.contains(word) { return true }
                word = ""
            } else if isSmall, !wasSmall, word.count > 1 {
                if words.contains(String(word.dropLast())) { return true }
                word = String(word.suffix(1))
            }
            wasSmall = isSmall
            if isSmall || isCapital {
                let letter = String(scalar).lowercased()
                joined += letter
                word += letter
            } else if "0"..."9" ~= scalar {
                joined.unicodeScalars.append(scalar)
            }
        }
        return words.contains(word) || whole.contains(joined)
            || parts.contains { joined.contains($0) }
    }

    /// Names in bodies and logs that have a harmless value as a rule: `{"key": "Enter"}`.
    private static let weak: Set<String> = ["s", "ak", "key"]
    /// Behind a weak name, a value of so many bytes without a blank is a secret.
    private static let weakValueBytesMin = 16

    /// True for the name of a secret with this value in a body or a log.
    static func contains(
        _ name: some StringProtocol,
        value: some Collection<UInt8>
    ) -> Bool {
        guard contains(name) else { return false }
        guard isWeak(name) else { return true }
        return value.count >= weakValueBytesMin && !value.contains { $0 <= 0x20 }
    }

    static func isWeak(_ name: some StringProtocol) -> Bool {
        let letters = name.utf8.filter { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte)
                || (0x61...0x7a).contains(byte)
        }
        return weak.contains(String(decoding: letters, as: UTF8.self).lowercased())
    }

    /// The header fields whose values are shown, of requests and answers. Any other may have a credential.
    private static let shownFields: Set<String> = [
        "accept", "accept-charset", "accept-encoding", "accept-language",
        "access-control-allow-headers",
        "access-control-allow-methods", "access-control-allow-origin",
        "access-control-expose-headers",
        "access-control-max-age", "access-control-request-headers", "access-control-request-method",
        "allow", "cache-control", "connection", "content-encoding", "content-language",
        "content-length", "content-type", "date", "dnt", "expect", "forwarded", "host",
        "keep-alive",
        "origin", "pragma", "referer", "retry-after", "sec-fetch-dest", "sec-fetch-mode",
        "sec-fetch-site", "sentry-trace", "server", "te", "traceparent", "transfer-encoding",
        "upgrade-insecure-requests", "user-agent", "vary", "via", "x-content-type-options",
        "x-elastic-product",
        "x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
        "x-log-apiversion", "x-log-bodyrawsize", "x-log-client-time", "x-log-compresstype",
        "x-log-date", "x-log-logstore", "x-log-mode", "x-log-project", "x-log-requestid",
        "x-log-signaturemethod", "x-log-time", "x-real-ip", "x-request-id", "x-requested-with",
        "x-scope-orgid", "x-splunk-request-channel",
    ]

    static func shows(field: String) -> Bool { shownFields.contains(field.lowercased()) }
}
