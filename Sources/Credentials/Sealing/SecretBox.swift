import SLS
import System

/// Seals pushed credentials, so that they can be stored next to the logs.
///
/// Version 1: the byte 1, 4 bytes that tell the key, a nonce of 12 bytes, then AES-256-GCM over the
/// credential, with the name as associated data: what is stored for one name opens for no other.
package struct SecretBox: Sendable {
    private let key: SealingKey

    private static let version: UInt8 = 1
    private static let headBytes = 1 + 4 + AESGCM.nonceBytes

    package init(key: SealingKey) {
        self.key = key
    }

    package func seal(_ pushed: PushedCredential, name: String) -> [UInt8] {
        var plain = PlainCredential.bytes(of: pushed)
        defer { wipe(&plain) }
        // Random nonces of 96 bits are good for 2^32 seals; rotations are far fewer.
        let nonce = randomBytes(AESGCM.nonceBytes)
        let head = [Self.version] + key.mark + nonce
        let sealed = key.bytes.withBytes { key in
            AESGCM.seal(plain, key: key, nonce: nonce, associated: Self.associated(head, name))
        }
        return head + sealed
    }

    package func open(
        _ sealed: [UInt8],
        name: String
    ) throws(SecretBoxProblem) -> PushedCredential {
        guard sealed.first == Self.version else { throw .otherVersion }
        guard sealed.count >= Self.headBytes else { throw .changed }
        let head = Array(sealed[..<Self.headBytes])
        guard Array(head[1..<5]) == key.mark else { throw .otherKey }
        let plain = key.bytes.withBytes { key in
            AESGCM.open(
                sealed[Self.headBytes...],
                key: key,
                nonce: Array(head[5...]),
                associated: Self.associated(head, name)
            )
        }
        guard var plain else { throw .changed }
        defer { wipe(&plain) }
        guard let pushed = PlainCredential.read(plain) else { throw .otherVersion }
        return pushed
    }

    private static func associated(_ head: [UInt8], _ name: String) -> [UInt8] {
        head + Array("sluice credential \(name)".utf8)
    }
}

/// What is inside: four texts with their lengths, then three times in seconds.
private enum PlainCredential {
    /// No time.
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
