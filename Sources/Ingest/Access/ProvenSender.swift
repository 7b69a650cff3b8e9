import Crypto
import System

/// Who sends a request by what its head says, and what the body must be for that to hold.
struct ProvenSender: Sendable {
    let sender: DeviceSender
    /// `sub` of the token that it has shown.
    var subject: String?
    var body: BodyProof?
    /// To be used up with the body.
    var nonce: OwnNonce?

    /// To be called once, before anything is made of the body.
    func prove(_ content: UnsafeRawBufferPointer) throws(AccessProblem) {
        try body?.check(content)
        try nonce?.use(now: .now)
    }
}

/// What a sender has vouched for before the body came.
enum BodyProof: Sendable {
    case md5([UInt8])
    case sha256([UInt8])

    func check(_ body: UnsafeRawBufferPointer) throws(AccessProblem) {
        let isRight =
            switch self {
            case .md5(let digest): Digest.areEqual(Digest.md5(body), digest)
            case .sha256(let digest): Digest.areEqual(Digest.sha256(body), digest)
            }
        guard isRight else { throw .wrongBody }
    }
}
