import Crypto
import HTTP
import SLS
import System

/// Checks a request that is signed like those of SLS's SDKs, with a key that the gateway gave to
/// devices. The signature covers the time and the body's digest.
struct SLSSignatureCheck {
    /// SLS's own limit.
    static let skewMax = Duration.seconds(15 * 60)

    let head: RequestHead
    let claim: AccessKeyClaim

    /// Returns the proof that the body must pass.
    func pass(_ secret: Secret) throws(AccessProblem) -> BodyProof? {
        if let scope = claim.scope { try passV4(secret, scope) } else { try passV1(secret) }
    }

    private func passV1(_ secret: Secret) throws(AccessProblem) -> BodyProof? {
        // Pages cannot set Date, and SLS takes x-log-date in its place.
        guard let date = head.fieldRange("x-log-date") ?? head.fieldRange("date") else {
            throw .badSignature
        }
        try checkClock(date)
        guard let text = head.textToSignV1(date: date) else { throw .badSignature }
        let code = secret.withBytes { Digest.hmacSHA1(key: $0, text) }
        try compare(Digest.base64(code))
        guard let digest = head.fieldRange("content-md5"), !digest.isEmpty else {
            // Without the digest, anyone could put another body under the signature.
            guard !head.announcesBody else { throw .badSignature }
            return nil
        }
        return .md5(try bytes(hexadecimal: digest))
    }

    private func passV4(
        _ secret: Secret,
        _ scope: AccessKeyClaim.Scope
    ) throws(AccessProblem) -> BodyProof {
        guard let date = head.fieldRange("x-log-date"),
            head.bytes[date].starts(with: scope.day),
            let digest = head.fieldRange("x-log-content-sha256"),
            let request = head.canonicalV4(bodyDigest: head.bytes[digest])
        else { throw .badSignature }
        try checkClock(date)
        var text = Array("SLS4-HMAC-SHA256\n".utf8)
        for part in [head.bytes[date], scope.text] {
            text += part
            text.append(UInt8(ascii: "\n"))
        }
        text += Digest.sha256Hex(request).utf8
        var key = SignatureV4.signingKey(
            secret: secret,
            day: String(decoding: scope.day, as: UTF8.self),
            region: String(decoding: scope.region, as: UTF8.self)
        )
        defer { wipe(&key) }
        try compare(hex(Digest.hmacSHA256(key: key, text)))
        return .sha256(try bytes(hexadecimal: digest))
    }

    private func checkClock(_ date: Range<Int>) throws(AccessProblem) {
        let text = String(decoding: head.bytes[date], as: UTF8.self)
        guard let time = WallTime(compactISO8601: text) ?? WallTime(httpDate: text) else {
            throw .badSignature
        }
        let apart = time < head.arrival ? head.arrival - time : time - head.arrival
        guard apart <= Self.skewMax else { throw .wrongClock }
    }

    private func compare(_ right: String) throws(AccessProblem) {
        guard Digest.areEqual(Array(right.utf8), Array(claim.signature)) else {
            throw .badSignature
        }
    }

    private func bytes(hexadecimal range: Range<Int>) throws(AccessProblem) -> [UInt8] {
        guard let bytes = hexDecoded(head.bytes[range]) else { throw .badSignature }
        return bytes
    }
}

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

// The texts that SLS's SDKs sign, rebuilt from the request. The limits of a head bound their size.

extension RequestHead {
    /// Version 1: the digest of the body, some headers, and the decoded query; nil when the query
    /// cannot be decoded.
    func textToSignV1(date: Range<Int>) -> [UInt8]? {
        guard let pairs = decodedQuery else { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        text.append(line: methodName)
        text.append(line: bytes[fieldRange("content-md5") ?? 0..<0])
        text.append(line: bytes[fieldRange("content-type") ?? 0..<0])
        text.append(line: bytes[date])
        let fields = signedFields { name in
            name != Array("x-log-date".utf8) && (name.begins("x-log-") || name.begins("x-acs-"))
        }
        for (name, value) in fields { text.append(name, UInt8(ascii: ":"), bytes[value]) }
        text += bytes[path]
        for (index, pair) in pairs.enumerated() {
            text.append(UInt8(ascii: index == 0 ? "?" : "&"))
            text += pair.name
            text.append(UInt8(ascii: "="))
            text += pair.value
        }
        return text
    }

    /// Version 4: method, path, query, headers and the digest of the body; nil when the query
    /// cannot be decoded.
    func canonicalV4(bodyDigest: ArraySlice<UInt8>) -> [UInt8]? {
        guard let pairs = decodedQuery else { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        text.append(line: methodName)
        text.append(line: bytes[path])
        for (index, pair) in pairs.enumerated() {
            if index > 0 { text.append(UInt8(ascii: "&")) }
            // Names are not encoded, and an empty value has no `=`.
            text += pair.name
            guard !pair.value.isEmpty else { continue }
            text.append(UInt8(ascii: "="))
            text += percentEncoded(pair.value)
        }
        text.append(UInt8(ascii: "\n"))
        let fields = signedFields { name in
            name == Array("content-type".utf8) || name == Array("host".utf8)
                || name.begins("x-log-") && !name.begins("x-log-meta-") || name.begins("x-acs-")
        }
        for (name, value) in fields { text.append(name, UInt8(ascii: ":"), bytes[value]) }
        text.append(UInt8(ascii: "\n"))
        text += fields.map(\.name).joined(separator: [UInt8(ascii: ";")])
        text.append(UInt8(ascii: "\n"))
        return text + bodyDigest
    }

    /// As it came, also for methods that `RequestHead.Method` does not know.
    var methodName: ArraySlice<UInt8> { bytes.prefix { $0 != UInt8(ascii: " ") } }

    /// Sorted by their names, which are in lower case.
    private func signedFields(
        _ isSigned: ([UInt8]) -> Bool
    ) -> [(name: [UInt8], value: Range<Int>)] {
        var signed: [(name: [UInt8], value: Range<Int>)] = []
        for field in fields {
            let name = bytes[field.name].map {
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0
            }
            if isSigned(name) { signed.append((name, field.value)) }
        }
        return signed.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }

    /// The decoded pairs, sorted by name; nil when they cannot be decoded.
    private var decodedQuery: [(name: [UInt8], value: [UInt8])]? {
        guard let query else { return [] }
        var pairs: [(name: [UInt8], value: [UInt8])] = []
        for piece in bytes[query].split(separator: UInt8(ascii: "&")) {
            let equals = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
            // Libraries write a space as `%20` or as a plus; a plus itself is always `%2B`.
            guard let name = percentDecoded(piece[..<equals], isForm: true),
                let value = percentDecoded(piece[equals...].dropFirst(), isForm: true)
            else { return nil }
            pairs.append((name, value))
        }
        return pairs.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }
}

extension [UInt8] {
    fileprivate func begins(_ start: StaticString) -> Bool {
        start.withUTF8Buffer { starts(with: $0) }
    }

    fileprivate mutating func append(line: ArraySlice<UInt8>) {
        self += line
        append(UInt8(ascii: "\n"))
    }

    fileprivate mutating func append(_ name: [UInt8], _ mark: UInt8, _ value: ArraySlice<UInt8>) {
        self += name
        append(mark)
        append(line: value)
    }
}
