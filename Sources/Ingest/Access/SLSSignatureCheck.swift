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
