import Crypto

/// The names of fields, parameters and JSON members whose values are never shown: one list for
/// refusals, captures and their exports.
package enum SecretNames {
    private static let whole = ["s", "sign", "ak", "key", "idempotencykey"].map { Array($0.utf8) }
    /// Parts of a name's letters and digits, so that `access_key`, `Access-Key` and `accessKeyId`
    /// are one.
    private static let parts = [
        "token", "secret", "password", "passwd", "passcode", "passphrase", "session", "credential",
        "signature", "accesskey", "apikey", "privatekey", "sluicekey", "authorization", "cookie",
        "userpwd", "pincode", "phpsessid",
    ].map { Array($0.utf8) }
    /// Whole words of a name, since `spin` and `author` are no secrets.
    private static let words = [
        "pwd", "pass", "jwt", "otp", "totp", "mfa", "pin", "cvv", "cvc", "auth", "sig", "csrf",
        "sid",
    ].map { Array($0.utf8) }

    package static func contains(_ name: some StringProtocol) -> Bool { contains(Array(name.utf8)) }

    /// In bytes, since hostile text has very many names.
    static func contains(_ name: [UInt8]) -> Bool {
        var joined: [UInt8] = []
        joined.reserveCapacity(name.count)
        var wordStart = 0
        var wasSmall = false
        let isWord = { (word: ArraySlice<UInt8>) in
            (3...4).contains(word.count) && words.contains { word.elementsEqual($0) }
        }
        for byte in name {
            let (isSmall, isCapital) = ((0x61...0x7a) ~= byte, (0x41...0x5a) ~= byte)
            // A capital after a small letter begins a word (userPin). In PINCode the small o shows
            // that C began one.
            if isCapital && wasSmall || !isSmall && !isCapital {
                if isWord(joined[wordStart...]) { return true }
                wordStart = joined.count
            } else if isSmall, !wasSmall, joined.count > wordStart + 1 {
                if isWord(joined[wordStart...].dropLast()) { return true }
                wordStart = joined.count - 1
            }
            wasSmall = isSmall
            if isSmall || isCapital {
                joined.append(byte | 0x20)
            } else if (0x30...0x39) ~= byte {
                joined.append(byte)
                wordStart = joined.count
            }
        }
        return isWord(joined[wordStart...]) || whole.contains(joined)
            || joined.indices.contains { place in
                parts.contains { $0[0] == joined[place] && joined[place...].starts(with: $0) }
            }
    }

    /// Names in bodies and logs that have a harmless value as a rule: `{"key": "Enter"}`.
    private static let weak = ["s", "ak", "key"].map { Array($0.utf8) }
    /// Behind a weak name, a value of so many bytes without a blank is a secret.
    static let weakValueBytesMin = 16

    /// True for the name of a secret with this value in a body or a log.
    static func contains(
        _ name: some StringProtocol,
        value: some Collection<UInt8>
    ) -> Bool {
        let name = Array(name.utf8)
        return contains(name) && hides(value, behind: name)
    }

    /// True for a secret, if the name is that of one.
    static func hides(_ value: some Collection<UInt8>, behind name: [UInt8]) -> Bool {
        if value.count >= weakValueBytesMin, !value.contains(where: { $0 <= 0x20 }) { return true }
        let letters = name.filter {
            (0x30...0x39) ~= $0 || (0x41...0x5a) ~= $0 || (0x61...0x7a) ~= $0
        }
        return !weak.contains(letters.map { $0 | 0x20 })
    }

    /// The header fields whose values are shown, of requests and answers. Any other may have a
    /// credential.
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

/// Secrets that are known without a name: those that the process holds, JSON Web Tokens, and
/// private keys.
enum SecretValues {
    /// The beginnings of `{"` in base64, also with space between.
    private static let tokenStarts = ["eyJ", "eyA", "ewo", "ew0", "ewk"].map { Array($0.utf8) }
    /// The beginnings of private keys of PEM, SSH2, PuTTY and age.
    private static let keyStarts = [
        "-----BEGIN", "---- BEGIN", "PuTTY-User-Key", "AGE-SECRET-KEY-",
    ]
    .map { Array($0.utf8) }
    private static let keyEnds = ["-----END", "---- END"].map { Array($0.utf8) }
    private static let keyName = Array("PRIVATE KEY".utf8)

    /// In order, without overlaps. `isCut`: a token at the end may have lost its points.
    static func ranges(in text: [UInt8], isCut: Bool = false) -> [Range<Int>] {
        var ranges = text.withUnsafeBytes { KnownSecrets.ranges(in: $0, isCut: isCut) }
        // What follows a part of a token, or a key's beginning, decides for every place in it.
        var (tokensFrom, keysFrom) = (0, 0)
        for (place, byte) in text.enumerated() {
            if byte == UInt8(ascii: "e"), place >= tokensFrom,
                tokenStarts.contains(where: text[place...].starts)
            {
                tokensFrom = partEnd(in: text, place)
                if let end = tokenEnd(in: text, place, tokensFrom, isCut) {
                    ranges.append(place..<end)
                    tokensFrom = end
                }
            } else if byte == 0x2d || byte == 0x41 || byte == 0x50, place >= keysFrom,
                let end = keyEnd(in: text, place)
            {
                ranges.append(place..<end)
                keysFrom = end
            }
        }
        var merged: [Range<Int>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound < last.upperBound {
                merged[merged.count - 1] =
                    last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        return merged
    }

    private static func tokenEnd(
        in text: [UInt8],
        _ place: Int,
        _ firstPartEnd: Int,
        _ isCut: Bool
    ) -> Int? {
        var end = firstPartEnd
        guard end - place >= 10 else { return nil }
        if end == text.count { return isCut ? end : nil }
        var points = 0
        while end < text.count, text[end] == UInt8(ascii: "."), points < 4 {
            points += 1
            end = partEnd(in: text, end + 1)
        }
        return points > 0 ? end : nil
    }

    private static func partEnd(in text: [UInt8], _ place: Int) -> Int {
        text[place...].firstIndex {
            !((0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
                || $0 == 0x2d || $0 == 0x5f)
        } ?? text.count
    }

    /// Up to the line of the end, or all that follows.
    private static func keyEnd(in text: [UInt8], _ place: Int) -> Int? {
        guard let kind = keyStarts.firstIndex(where: text[place...].starts) else { return nil }
        guard kind < keyEnds.count else {
            return kind == 2 ? text.count : partEnd(in: text, place)
        }
        let starts = { (part: [UInt8]) in { (place: Int) in text[place...].starts(with: part) } }
        guard text[place...].prefix(48).indices.contains(where: starts(keyName)) else { return nil }
        let end = text.indices[place...].first(where: starts(keyEnds[kind]))
        return end.map { min(text.count, $0 + keyEnds[kind].count + 32) } ?? text.count
    }
}
