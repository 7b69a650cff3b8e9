import HTTP
import System

extension RequestHead {
    /// The query parameter of a key, for beacons and images, which cannot have header fields of
    /// their own.
    static let keyParameter: StaticString = "key"
    /// Splunk's name of the parameter.
    private static let splunkParameter: StaticString = "token"

    /// The key in a header field. Signed requests of SDKs may have one beside the signature.
    func keyInFields(isKnown: ([UInt8]) -> Bool) -> [UInt8]? {
        if let own = fieldRange("x-sluice-key") { return Array(bytes[own]) }
        return fieldRange("authorization").flatMap { key(in: bytes[$0], isKnown) }
    }

    var accessKeyClaim: AccessKeyClaim? {
        fieldRange("authorization").flatMap { AccessKeyClaim(bytes[$0]) }
    }

    /// RFC 9110 section 11.4: a scheme in any case, and its credentials.
    private func key(
        in authorization: ArraySlice<UInt8>,
        _ isKnown: ([UInt8]) -> Bool
    ) -> [UInt8]? {
        guard let space = authorization.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let rest = authorization[space...].drop { $0 == UInt8(ascii: " ") }
        switch String(decoding: authorization[..<space], as: UTF8.self).lowercased() {
        case "bearer", "splunk": return Array(rest)
        case "basic": return basicPassword(rest)
        // Elasticsearch's: an id and a secret, or the key as it is in the configuration. One in
        // four keys of hexadecimal digits can be read as an id and a secret too.
        case "apikey":
            let whole = Array(rest)
            guard !whole.isEmpty, !isKnown(whole) else { return whole.isEmpty ? nil : whole }
            return basicPassword(rest) ?? whole
        default: return nil
        }
    }

    /// Outside of Splunk's paths, `token` may be a field of a log.
    var keyInQuery: [UInt8]? {
        guard let query else { return nil }
        let isSplunk = "/services/collector".utf8.elementsEqual(bytes[path].prefix(19))
        return key(called: Self.keyParameter, in: query)
            ?? (isSplunk ? key(called: Self.splunkParameter, in: query) : nil)
    }

    /// The first value of this name. Keys have no spaces, so a plus is a plus.
    private func key(called name: StaticString, in query: Range<Int>) -> [UInt8]? {
        for pair in bytes[query].split(separator: UInt8(ascii: "&")) {
            let start = pair.startIndex + name.utf8CodeUnitCount
            guard start < pair.endIndex, pair[start] == UInt8(ascii: "="),
                name.withUTF8Buffer({ pair.starts(with: $0) })
            else { continue }
            return percentDecodedText(pair[(start + 1)...]).map { Array($0.utf8) } ?? []
        }
        return nil
    }
}

/// The text after the colon (RFC 7617 section 2); nil when there is none.
private func basicPassword(_ credentials: ArraySlice<UInt8>) -> [UInt8]? {
    guard let text = base64Decoded(credentials, .standard),
        let colon = text.firstIndex(of: UInt8(ascii: ":"))
    else { return nil }
    return Array(text[(colon + 1)...])
}
