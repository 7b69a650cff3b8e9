import COpenSSL

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
            return name.prefix(count).map { UInt8(bitPattern: $0) } == Array("prime256v1".utf8)
        }
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
