package import Crypto

/// What one issuer, or one of its keys, signs tokens with.
package struct TokenKey: Sendable, Equatable {
    package enum Material: Sendable, Equatable {
        case secret(Secret)
        case publicKey(PublicKey)
    }

    /// RFC 7518 section 3.2: as long as the digest at least.
    package static let secretBytes = 32...256

    /// What a token calls it, in `kid`.
    package let id: String
    package let material: Material

    package init(id: String, _ material: Material) {
        self.id = id
        self.material = material
    }

}

extension TokenKey.Material {
    func signed(_ message: ArraySlice<UInt8>, _ signature: [UInt8]) -> Bool {
        switch self {
        case .secret(let secret):
            let right = secret.withBytes { Digest.hmacSHA256(key: $0, Array(message)) }
            return Digest.areEqual(right, signature)
        case .publicKey(let key): return key.verifies(message, signature)
        }
    }
}
