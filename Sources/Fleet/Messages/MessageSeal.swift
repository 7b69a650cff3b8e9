import Crypto
import System

/// Seals what gateways of a cluster send each other. An engine may let others send and read
/// messages: any role of a PostgreSQL server may. So the key lies in a register, which needs
/// rights.
///
/// Two clusters of one name share registers. A call is understood by both, so that it can be told;
/// all else only by gateways with the same `credentials.encryption_key` (passphrases are not
/// compared).
struct MessageSeal: Equatable, Sendable {
    static let register = "message-key"

    private static let callBit: UInt8 = 1
    private static let toAllBit: UInt8 = 2

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

    /// Binds the recipient: no other gateway, nor the sender, can open the message.
    private static func associated(_ head: UInt8, _ recipient: String?) -> [UInt8] {
        [head] + Array("sluice \(recipient ?? "")".utf8)
    }

    /// `recipient` is a node; nil: all gateways.
    func seal(_ message: FleetMessage, to recipient: String?) -> [UInt8] {
        let head: UInt8 =
            (message.isCall ? Self.callBit : 0) | (recipient == nil ? Self.toAllBit : 0)
        let nonce = randomBytes(AESGCM.nonceBytes)
        let associated = Self.associated(head, recipient)
        let sealed = key(message.isCall).withUnsafeBytes {
            AESGCM.seal(message.bytes, key: $0, nonce: nonce, associated: associated)
        }
        return [head] + nonce + sealed
    }

    /// nil: the sender does not know the key, has another encryption key, or means another node.
    func open(_ bytes: [UInt8], at node: String) -> FleetMessage? {
        let bodyStart = 1 + AESGCM.nonceBytes
        guard bytes.count > bodyStart, bytes[0] <= Self.callBit | Self.toAllBit else { return nil }
        let isCall = bytes[0] & Self.callBit != 0
        let isToAll = bytes[0] & Self.toAllBit != 0
        let associated = Self.associated(bytes[0], isToAll ? nil : node)
        let plain = key(isCall).withUnsafeBytes {
            AESGCM.open(
                bytes[bodyStart...],
                key: $0,
                nonce: Array(bytes[1..<bodyStart]),
                associated: associated
            )
        }
        guard let message = plain.flatMap(FleetMessage.init), message.isCall == isCall else {
            return nil
        }
        // Only news of stored requests may be addressed to all.
        if case .repeats = message.content { return message }
        return isToAll ? nil : message
    }
}
