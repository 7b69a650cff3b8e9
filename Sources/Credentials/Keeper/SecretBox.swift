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

/// The unsealed content: four texts with their lengths, then three times in seconds.
enum PlainCredential {
    /// Stands for a missing time.
    private static let never = Int64.min

    static func bytes(of pushed: PushedCredential) -> [UInt8] {
        let supplied = pushed.supplied
        let texts = [
            Secret(supplied.credential.accessKeyID), supplied.credential.secret,
            supplied.credential.securityToken ?? Secret(""), Secret(supplied.origin),
        ]
        let times = [
            supplied.obtainedAt.seconds, supplied.expiration?.seconds ?? never,
            pushed.activation?.seconds ?? never,
        ]
        var bytes: [UInt8] = []
        bytes.reserveCapacity(texts.reduce(0) { $0 + $1.byteCount + 4 } + times.count * 8)
        for text in texts {
            append(UInt32(text.byteCount), to: &bytes)
            text.withBytes { bytes.append(contentsOf: $0) }
        }
        for time in times { append(UInt64(bitPattern: time), to: &bytes) }
        return bytes
    }

    static func read(_ bytes: [UInt8]) -> PushedCredential? {
        var rest = bytes[...]
        func number(_ count: Int) -> UInt64? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count).reduce(0) { $0 << 8 | UInt64($1) }
        }
        func text() -> Secret? {
            guard let count = number(4), rest.count >= Int(count) else { return nil }
            defer { rest = rest.dropFirst(Int(count)) }
            return rest.prefix(Int(count)).withUnsafeBytes { Secret(copying: $0) }
        }
        func time() -> WallTime?? {
            guard let seconds = number(8).map({ Int64(bitPattern: $0) }) else { return nil }
            return .some(seconds == never ? nil : WallTime(seconds: seconds))
        }
        guard let id = text(), let secret = text(), let token = text(), let origin = text(),
            case .some(.some(let obtainedAt)) = time(), let expiration = time(),
            let activation = time(), rest.isEmpty
        else { return nil }
        let credential = Credential(
            accessKeyID: id.revealed,
            secret: secret,
            securityToken: token.byteCount == 0 ? nil : token
        )
        let supplied = SuppliedCredential(
            credential,
            expiration: expiration,
            origin: origin.revealed,
            obtainedAt: obtainedAt
        )
        return PushedCredential(supplied, activation: activation)
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
