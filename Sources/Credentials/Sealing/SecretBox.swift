package import Crypto
import SLS
import System

/// Seals pushed credentials for storage next to the logs.
///
/// Version 1: the byte 1, 4 bytes that identify the key, a nonce of 12 bytes, then AES-256-GCM over
/// the credential. The name is associated data, so a credential stored under one name does not open
/// under another. Version 2, for passphrases: the byte 2, a salt of 16 bytes, then as version 1.
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
        // Random 96-bit nonces are safe for 2^32 seals; rotations are far fewer.
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
        // A key of 32 bytes cannot open what a passphrase sealed.
        guard salt.isEmpty || key.isPassphrase else { throw .otherKey }
        let bytes = salt.isEmpty ? key.plainBytes : derived.bytes(of: key, salt)
        let mark = SealingKey.mark(of: bytes)
        guard head[(1 + saltBytes)...].starts(with: mark) else { throw .otherKey }
        let nonce = Array(head.suffix(AESGCM.nonceBytes))
        let associated = Self.associated(head, name)
        // `plain` must have one owner, or only a copy is wiped.
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

/// Remembers a few keys derived from the passphrase, because derivation is slow.
private final class DerivedKeys: Sendable {
    private struct State {
        /// The salt for new seals.
        var salt = randomBytes(Scrypt.saltBytes)
        var keys: [(salt: [UInt8], key: Secret)] = []
    }

    private static let keysMax = 4
    private let state = Locked(State())

    var saltInUse: [UInt8] { state.withLock { $0.salt } }

    /// Reuses the salt of a stored credential, so that the number of salts does not grow.
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
