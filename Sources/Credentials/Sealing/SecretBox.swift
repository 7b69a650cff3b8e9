package import Crypto
import SLS
import System

/// Seals pushed credentials, so that they can be stored next to the logs.
///
/// Version 1: the byte 1, 4 bytes that tell the key, a nonce of 12 bytes, then AES-256-GCM over the
/// credential, with the name as associated data: what is stored for one name opens for no other.
/// Version 2, for passphrases: the byte 2, a salt of 16 bytes, and the rest as in version 1.
package struct SecretBox: Sendable {
    private let key: SealingKey
    private let derived = DerivedKeys()

    private static let (plainKey, salted): (UInt8, UInt8) = (1, 2)

    package init(key: SealingKey) {
        self.key = key
    }

    package func seal(_ pushed: PushedCredential, name: String) -> [UInt8] {
        var plain = PlainCredential.bytes(of: pushed)
        defer { wipe(&plain) }
        var head = [Self.plainKey]
        var bytes = key.plainBytes
        if key.isPassphrase {
            let salt = derived.saltInUse
            head = [Self.salted] + salt
            bytes = derived.bytes(of: key, salt)
        }
        // Random nonces of 96 bits are good for 2^32 seals; rotations are far fewer.
        let nonce = randomBytes(AESGCM.nonceBytes)
        head += SealingKey.mark(of: bytes) + nonce
        let sealed = bytes.withBytes { key in
            AESGCM.seal(plain, key: key, nonce: nonce, associated: Self.associated(head, name))
        }
        return head + sealed
    }

    package func open(
        _ sealed: [UInt8],
        name: String
    ) throws(SecretBoxProblem) -> PushedCredential {
        let saltBytes: Int
        switch sealed.first {
        case Self.plainKey: saltBytes = 0
        case Self.salted: saltBytes = Scrypt.saltBytes
        default: throw .otherVersion
        }
        let headBytes = 1 + saltBytes + 4 + AESGCM.nonceBytes
        guard sealed.count >= headBytes else { throw .changed }
        let head = Array(sealed[..<headBytes])
        let salt = Array(head[1..<1 + saltBytes])
        // Whoever wrote 32 bytes has no passphrase that could open it.
        guard salt.isEmpty || key.isPassphrase else { throw .otherKey }
        let bytes = salt.isEmpty ? key.plainBytes : derived.bytes(of: key, salt)
        let mark = SealingKey.mark(of: bytes)
        guard head[(1 + saltBytes)...].starts(with: mark) else { throw .otherKey }
        let nonce = Array(head.suffix(AESGCM.nonceBytes))
        let associated = Self.associated(head, name)
        // One owner, or a copy is what is wiped.
        guard
            var plain = bytes.withBytes({
                AESGCM.open(sealed[headBytes...], key: $0, nonce: nonce, associated: associated)
            })
        else { throw .changed }
        defer { wipe(&plain) }
        guard let pushed = PlainCredential.read(plain) else { throw .otherVersion }
        if !salt.isEmpty { derived.use(salt) }
        return pushed
    }

    private static func associated(_ head: [UInt8], _ name: String) -> [UInt8] {
        head + Array("sluice credential \(name)".utf8)
    }
}

/// Keys that were derived from the passphrase, which takes its time: a few are remembered.
private final class DerivedKeys: Sendable {
    private struct State {
        /// What new ones are sealed with.
        var salt = randomBytes(Scrypt.saltBytes)
        var keys: [(salt: [UInt8], key: Secret)] = []
    }

    private static let keysMax = 4
    private let state = Locked(State())

    var saltInUse: [UInt8] { state.withLock { $0.salt } }

    /// Goes on with the salt of what is stored, so that there are not ever more of them.
    func use(_ salt: [UInt8]) {
        state.withLock { $0.salt = salt }
    }

    func bytes(of key: SealingKey, _ salt: [UInt8]) -> Secret {
        let known = state.withLock { state in state.keys.first { $0.salt == salt }?.key }
        if let known { return known }
        let bytes = key.bytes(salt: salt)
        state.withLock { state in
            state.keys = Array(([(salt, bytes)] + state.keys).prefix(Self.keysMax))
        }
        return bytes
    }
}
