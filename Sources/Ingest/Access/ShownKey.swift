import HTTP
import System

extension RequestHead {
    /// The name that a key has in the query, for beacons and pictures, which cannot have fields of their own.
    static let keyParameter: StaticString = "key"
    /// The name that Splunk's clients have for it.
    private static let splunkParameter: StaticString = "token"

    /// The key that a header shows. Signed requests of SDKs may have it beside the signature.
    func keyInFields(isKnown: ([UInt8]) -> Bool) -> [UInt8]? {
        if let own = fieldRange("x-sluice-key") { return Array(bytes[own]) }
        return fieldRange("authorization").flatMap { key(in: bytes[$0], isKnown) }
    }

    var accessKeyClaim: AccessKeyClaim? {
        fieldRange("authorization").flatMap { AccessKeyClaim(bytes[$0]) }
    }

    /// RFC 9110 section 11.4: a scheme, whatever its case, and what belongs to it.
    private func key(
        in authorization: ArraySlice<UInt8>,
        _ isKnown: ([UInt8]) -> Bool
    ) -> [UInt8]? {
        guard let space = authorization.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let rest = authorization[space...].drop { $0 == UInt8(ascii: " ") }
        switch String(decoding: authorization[..<space], as: UTF8.self).lowercased() {
        case "bearer", "splunk": return Array(rest)
        case "basic": return basicPassword(rest)
        // Elasticsearch's: an id and a secret, or what the operator calls the key. Every fourth key of hexadecimal
        // digits can be read as the first, too.
        case "apikey":
            let whole = Array(rest)
            guard !whole.isEmpty, !isKnown(whole) else { return whole.isEmpty ? nil : whole }
            return basicPassword(rest) ?? whole
        default: return nil
        }
    }

    /// A `token` elsewhere than in Splunk's paths may be a field of a log.
    var keyInQuery: [UInt8]? {
        guard let query else { return nil }
        let isSplunk = "/services/collector".utf8.elementsEqual(bytes[path].prefix(19))
        return key(called: Self.keyParameter, in: query)
            ?? (isSplunk ? key(called: Self.splunkParameter, in: query) : nil)
    }

    /// The first of its name. Keys have no spaces, so a plus is one.
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

/// What stands behind the colon (RFC 7617 section 2); nil when it is no such text.
private func basicPassword(_ credentials: ArraySlice<UInt8>) -> [UInt8]? {
    guard let text = base64Decoded(credentials, .standard),
        let colon = text.firstIndex(of: UInt8(ascii: ":"))
    else { return nil }
    return Array(text[(colon + 1)...])
}
