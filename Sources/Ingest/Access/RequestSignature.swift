import Crypto
import HTTP
import Net
import SLS
import System

/// `x-sluice-signature`: proves that a request was signed with a key, without sending the key.
///
/// `v1,key=NAME,time=SECONDS,nonce=NONCE,body=SHA256,mac=MAC`, in this order, where MAC is the
/// HMAC-SHA256 of method, target, time, nonce and digest of the body, with a line feed between
/// them. Since the head has the digest, a forged request is refused before its body is read, and
/// costs the sender that it names nothing.
struct RequestSignature {
    static let form =
        "v1,key=NAME,time=SECONDS,nonce=NONCE,body=SHA256,mac=HMAC, with a nonce of 16 to 64 letters, digits, "
        + "- and _"

    let name: [UInt8]
    /// Since 1970.
    let seconds: Int64
    let nonce: [UInt8]
    let bodyDigest: [UInt8]
    let mac: [UInt8]
    /// As the client wrote them.
    private let signed: [ArraySlice<UInt8>]

    /// nil when the text has another form.
    init?(_ text: ArraySlice<UInt8>) {
        let parts = text.split(
            separator: UInt8(ascii: ","),
            maxSplits: 6,
            omittingEmptySubsequences: false
        )
        guard parts.count == 6, parts[0].elementsEqual("v1".utf8),
            let name = parts[1].following("key="),
            let time = parts[2].following("time="), (1...11).contains(time.count),
            time.allSatisfy({ (0x30...0x39).contains($0) }),
            let nonce = parts[3].following("nonce="), (16...64).contains(nonce.count),
            nonce.allSatisfy(\.isWordCharacter),
            let digest = parts[4].following("body="), digest.isLowerCaseHex,
            let bodyDigest = hexDecoded(digest), bodyDigest.count == 32,
            let code = parts[5].following("mac="), code.isLowerCaseHex,
            let mac = hexDecoded(code), mac.count == 32
        else { return nil }
        self.name = Array(name)
        seconds = time.reduce(0) { $0 * 10 + Int64($1 & 15) }
        self.nonce = Array(nonce)
        self.bodyDigest = bodyDigest
        self.mac = mac
        signed = [time, nonce, digest]
    }

    /// Does not check the body's digest, and does not use up the nonce.
    func check(
        _ head: RequestHead,
        _ secret: Secret,
        window: Duration
    ) throws(AccessProblem) {
        let target = head.bytes[head.path.lowerBound..<(head.query ?? head.path).upperBound]
        let text = ([head.methodName, target] + signed).joined(separator: [UInt8(ascii: "\n")])
        let code = secret.withBytes { Digest.hmacSHA256(key: $0, Array(text)) }
        guard Digest.areEqual(code, mac) else { throw .badSignature }
        let (time, now) = (seconds, head.arrival.seconds)
        guard abs(now - time) <= window.components.seconds else { throw .expired }
    }
}

extension ArraySlice<UInt8> {
    fileprivate var isLowerCaseHex: Bool {
        allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
