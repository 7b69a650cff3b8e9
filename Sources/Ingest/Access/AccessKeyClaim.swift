/// The signature of an SLS SDK in `Authorization`: `LOG {id}:{signature}`, or `SLS4-HMAC-SHA256
/// Credential={id}/{day}/{region}/sls/aliyun_v4_request,Signature={signature}`.
struct AccessKeyClaim {
    /// The day and the region that a signature of version 4 is valid for.
    struct Scope {
        let text: ArraySlice<UInt8>
        let day: ArraySlice<UInt8>
        let region: ArraySlice<UInt8>
    }

    let id: [UInt8]
    let signature: ArraySlice<UInt8>
    /// nil in version 1.
    let scope: Scope?

    /// nil when the text has another form.
    init?(_ authorization: ArraySlice<UInt8>) {
        if let rest = authorization.following("LOG ") {
            guard let colon = rest.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            id = Array(rest[..<colon])
            signature = rest[(colon + 1)...]
            scope = nil
        } else if let rest = authorization.following("SLS4-HMAC-SHA256 Credential=") {
            guard let comma = rest.firstIndex(of: UInt8(ascii: ",")),
                let signature = rest[comma...].following(",Signature=")
            else { return nil }
            let parts = rest[..<comma].split(
                separator: UInt8(ascii: "/"),
                maxSplits: 5,
                omittingEmptySubsequences: false
            )
            guard parts.count == 5, parts[1].count == 8, !parts[2].isEmpty,
                parts[3].elementsEqual("sls".utf8),
                parts[4].elementsEqual("aliyun_v4_request".utf8)
            else { return nil }
            id = Array(parts[0])
            self.signature = signature
            scope = Scope(
                text: rest[parts[1].startIndex..<comma],
                day: parts[1],
                region: parts[2]
            )
        } else {
            return nil
        }
    }
}

extension ArraySlice<UInt8> {
    /// The text after `start`; nil when it begins differently.
    func following(_ start: StaticString) -> ArraySlice<UInt8>? {
        start.withUTF8Buffer { starts(with: $0) }
            ? self[(startIndex + start.utf8CodeUnitCount)...] : nil
    }
}
