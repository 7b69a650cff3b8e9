import COpenSSL
import JSON
import System

/// Why a file has no key that can check tokens.
package struct PublicKeyProblem: Error, Equatable, CustomStringConvertible {
    package let description: String
}

/// A public key for one algorithm.
///
/// Unchecked because of OpenSSL's object. Invariant: it never changes after the initialiser, and
/// OpenSSL lets several threads use such a key at a time.
package final class PublicKey: @unchecked Sendable, Equatable {
    private let key: OpaquePointer
    private let algorithm: TokenAlgorithm
    /// The source text, for comparisons.
    private let text: [UInt8]

    /// `text` is PEM, as `openssl pkey -pubout` writes it.
    package init(_ text: [UInt8], _ algorithm: TokenAlgorithm) throws(PublicKeyProblem) {
        precondition(!algorithm.hasSecret, "a secret is no public key")
        guard let key = Self.read(text) else {
            throw PublicKeyProblem(
                description:
                    "is not a public key in PEM; write one with: openssl pkey -in KEY -pubout"
            )
        }
        guard Self.fits(key, algorithm) else {
            EVP_PKEY_free(key)
            let wanted =
                algorithm == .rs256 ? "an RSA key of 2048 bits or more" : "an EC key on P-256"
            throw PublicKeyProblem(description: "\(algorithm.rawValue) wants \(wanted)")
        }
        self.key = key
        self.algorithm = algorithm
        self.text = text
    }

    /// nil when the content (DER, RFC 5280 section 4.1.2.7) is no key for the algorithm.
    init?(subjectPublicKeyInfo content: [UInt8], _ algorithm: TokenAlgorithm) {
        defer { ERR_clear_error() }
        let read = content.withUnsafeBufferPointer { content in
            var place = content.baseAddress
            return d2i_PUBKEY(nil, &place, content.count)
        }
        guard let read else { return nil }
        guard Self.fits(read, algorithm) else {
            EVP_PKEY_free(read)
            return nil
        }
        key = read
        self.algorithm = algorithm
        text = content
    }

    deinit { EVP_PKEY_free(key) }

    package static func == (left: PublicKey, right: PublicKey) -> Bool {
        left.algorithm == right.algorithm && left.text == right.text
    }

    func verifies(_ message: ArraySlice<UInt8>, _ signature: [UInt8]) -> Bool {
        // Clears OpenSSL's errors about the signature from this thread's list, where TLS would find
        // them.
        defer { ERR_clear_error() }
        guard let signature = algorithm == .es256 ? derSignature(signature) : signature,
            let context = EVP_MD_CTX_new()
        else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
        return message.withUnsafeBufferPointer { message in
            EVP_DigestVerify(
                context,
                signature,
                signature.count,
                message.baseAddress,
                message.count
            ) == 1
        }
    }

    private static func read(_ text: [UInt8]) -> OpaquePointer? {
        defer { ERR_clear_error() }
        guard let source = BIO_new_mem_buf(text, CInt(text.count)) else { return nil }
        defer { BIO_free(source) }
        return PEM_read_bio_PUBKEY(source, nil, nil, nil)
    }

    private static func fits(_ key: OpaquePointer, _ algorithm: TokenAlgorithm) -> Bool {
        defer { ERR_clear_error() }
        switch algorithm {
        case .hs256: return false
        case .rs256:
            return EVP_PKEY_get_id(key) == NID_rsaEncryption && EVP_PKEY_get_bits(key) >= 2048
        case .es256:
            guard EVP_PKEY_get_id(key) == NID_X9_62_id_ecPublicKey else { return false }
            var name = [CChar](repeating: 0, count: 32)
            var count = 0
            guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else { return false }
            return name.prefix(count).map(UInt8.init(truncatingIfNeeded:))
                == Array("prime256v1".utf8)
        }
    }

    /// nil when the members of a JSON Web Key (RFC 7518 section 6) are no key for the algorithm.
    fileprivate convenience init?(jwk members: [String: String], _ algorithm: TokenAlgorithm) {
        func bytes(_ name: String) -> [UInt8]? {
            members[name].flatMap { base64Decoded(Array($0.utf8)[...], .url) }
        }
        let content: [UInt8]
        switch (algorithm, members["kty"]) {
        case (.rs256, "RSA"):
            // No issuer uses more than a modulus of 8192 bits and an exponent of 64 bits; larger
            // ones would cost time.
            guard let modulus = bytes("n"), (256...1024).contains(modulus.count),
                let exponent = bytes("e"), (1...8).contains(exponent.count)
            else { return nil }
            let pair = DER.sequence(DER.integer(modulus) + DER.integer(exponent))
            content = DER.sequence(DER.rsaEncryption + DER.bitString(pair))
        case (.es256, "EC"):
            guard members["crv"] == "P-256", let x = bytes("x"), x.count == 32,
                let y = bytes("y"), y.count == 32
            else { return nil }
            content = DER.sequence(DER.p256 + DER.bitString([0x04] + x + y))
        default: return nil
        }
        self.init(subjectPublicKeyInfo: content, algorithm)
    }
}

/// Tokens carry two numbers of 32 bytes (RFC 7518 section 3.4); OpenSSL wants them as ASN.1.
private func derSignature(_ bytes: [UInt8]) -> [UInt8]? {
    guard bytes.count == 64, let pair = ECDSA_SIG_new() else { return nil }
    defer { ECDSA_SIG_free(pair) }
    let numbers = [bytes[..<32], bytes[32...]].map { half in
        half.withUnsafeBufferPointer { BN_bin2bn($0.baseAddress, CInt($0.count), nil) }
    }
    // From here on the pair owns the numbers.
    guard ECDSA_SIG_set0(pair, numbers[0], numbers[1]) == 1 else {
        for number in numbers { BN_free(number) }
        return nil
    }
    var der = [UInt8](repeating: 0, count: Int(max(0, i2d_ECDSA_SIG(pair, nil))))
    let written = der.withUnsafeMutableBufferPointer { der in
        var place = der.baseAddress
        return i2d_ECDSA_SIG(pair, &place)
    }
    return Int(written) == der.count && written > 0 ? der : nil
}

/// Why an issuer's keys cannot be used.
package struct TokenKeySetProblem: Error, Equatable, CustomStringConvertible {
    package let description: String
}

/// An issuer's published keys (JWK Set, RFC 7517) that fit the algorithm. Other keys are skipped,
/// as section 5 of the RFC demands: issuers also publish keys for encryption and other algorithms.
package struct TokenKeySet: Sendable, Equatable {
    package static let keysMax = 64
    package static let idBytesMax = 256

    /// Keys by `kid`; a key without one has the empty name.
    private let keys: [String: PublicKey]

    package var count: Int { keys.count }

    package init(_ json: [UInt8], _ algorithm: TokenAlgorithm) throws(TokenKeySetProblem) {
        precondition(!algorithm.hasSecret, "nobody publishes a secret")
        guard let all = Self.read(json) else {
            throw TokenKeySetProblem(
                description: "is not a JSON Web Key Set, which looks like {\"keys\":[{\"kty\":…}]}"
            )
        }
        guard all.count <= Self.keysMax else {
            throw TokenKeySetProblem(
                description: "has \(all.count) keys; the limit is \(Self.keysMax)"
            )
        }
        var keys: [String: PublicKey] = [:]
        for members in all {
            let id = members["kid"] ?? ""
            guard id.utf8.count <= Self.idBytesMax, keys[id] == nil,
                members["use"] ?? "sig" == "sig",
                members["alg"] ?? algorithm.rawValue == algorithm.rawValue,
                let key = PublicKey(jwk: members, algorithm)
            else { continue }
            keys[id] = key
        }
        guard !keys.isEmpty else {
            throw TokenKeySetProblem(
                description: "has no key for \(algorithm.rawValue): "
                    + (algorithm == .rs256 ? "RSA of 2048 bits or more" : "EC on P-256")
                    + ", for signatures"
            )
        }
        self.keys = keys
    }

    /// nil when no key has the name. A token without a name can only mean the only key.
    func key(_ id: String?) -> PublicKey? {
        guard let id else { return keys.count == 1 ? keys.first?.value : nil }
        return keys[id]
    }

    /// The text members of each key.
    private static func read(_ json: [UInt8]) -> [[String: String]]? {
        var reader = JSONReader(json)
        var keys: [[String: String]]?
        let isObject = reader.members { name, reader in
            guard name == "keys" else { return reader.skipValue() }
            guard keys == nil else { return false }
            keys = []
            return reader.elements { reader in
                var texts: [String: String] = [:]
                let isKey = reader.members { name, reader in
                    guard reader.isAtString else { return reader.skipValue() }
                    texts[name] = reader.string()
                    return texts[name] != nil
                }
                keys?.append(texts)
                return isKey
            }
        }
        return isObject && reader.isAtEnd ? keys : nil
    }
}

/// The part of ASN.1 that a SubjectPublicKeyInfo needs (RFC 5280 section 4.1.2.7).
private enum DER {
    /// AlgorithmIdentifier: rsaEncryption, NULL.
    static let rsaEncryption: [UInt8] = [
        0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
    ]
    /// AlgorithmIdentifier: id-ecPublicKey, prime256v1.
    static let p256: [UInt8] = [
        0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
        0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07,
    ]

    static func sequence(_ content: [UInt8]) -> [UInt8] { value(0x30, content) }

    static func bitString(_ content: [UInt8]) -> [UInt8] { value(0x03, [0x00] + content) }

    /// An unsigned number, high bytes first.
    static func integer(_ bytes: [UInt8]) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return value(0x02, digits)
    }

    private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        if count < 0x80 { return [tag, UInt8(count)] + content }
        if count < 0x100 { return [tag, 0x81, UInt8(count)] + content }
        return [tag, 0x82, UInt8(count >> 8), UInt8(count & 0xFF)] + content
    }
}
