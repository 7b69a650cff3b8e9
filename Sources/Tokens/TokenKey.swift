package import Crypto

/// A key with which an issuer signs tokens.
package struct TokenKey: Sendable, Equatable {
    package enum Material: Sendable, Equatable {
        case secret(Secret)
        case publicKey(PublicKey)
    }

    /// RFC 7518 section 3.2: at least as long as the digest.
    package static let secretBytes = 32...256

    /// The name of the key in a token's `kid`.
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
