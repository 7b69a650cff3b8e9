import Crypto
import System

/// Seals what gateways of a cluster send each other. An engine may let others send and read messages: any role of a
/// PostgreSQL server may. So the key lies in a register, which needs rights.
///
/// Two clusters of one name share registers. A call is understood by both, so that it can be told; all else only by
/// gateways with the same `credentials.encryption_key` (passphrases are not compared).
struct MessageSeal: Equatable, Sendable {
    static let register = "message-key"

    private let clusterKey: [UInt8]
    private let ownKey: [UInt8]

    static func newKey() -> [UInt8] { randomBytes(AESGCM.keyBytes) }

    /// nil: the register holds no key.
    init?(_ key: [UInt8], keyFingerprint: String?) {
        guard key.count == AESGCM.keyBytes else { return nil }
        clusterKey = key
        ownKey = Digest.sha256(key + Array((keyFingerprint ?? "").utf8))
    }

    private func key(_ isCall: Bool) -> [UInt8] { isCall ? clusterKey : ownKey }

    func seal(_ message: FleetMessage) -> [UInt8] {
        let head: [UInt8] = [message.isCall ? 1 : 0]
        let nonce = randomBytes(AESGCM.nonceBytes)
        let sealed = key(message.isCall).withUnsafeBytes {
            AESGCM.seal(message.bytes, key: $0, nonce: nonce, associated: head)
        }
        return head + nonce + sealed
    }

    /// nil: the sender does not know the key, or has another encryption key.
    func open(_ bytes: [UInt8]) -> FleetMessage? {
        let bodyStart = 1 + AESGCM.nonceBytes
        guard bytes.count > bodyStart, bytes[0] <= 1 else { return nil }
        let plain = key(bytes[0] == 1).withUnsafeBytes {
            AESGCM.open(
                bytes[bodyStart...],
                key: $0,
                nonce: Array(bytes[1..<bodyStart]),
                associated: [bytes[0]]
            )
        }
        guard let message = plain.flatMap(FleetMessage.init), message.isCall == (bytes[0] == 1)
        else { return nil }
        return message
    }
}
