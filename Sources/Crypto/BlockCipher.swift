import COpenSSL

/// Ciphers that other protocols prescribe: AES-128-CBC and single DES in ECB mode, both with PKCS 7
/// padding. Neither proves that a text is unchanged, so nothing of our own uses them.
package enum BlockCipher {
    case aes128CBC(initialVector: [UInt8])
    /// Triple DES with one key three times: OpenSSL's default provider has no single DES.
    case des

    package var keyBytes: Int {
        switch self {
        case .aes128CBC: 16
        case .des: 8
        }
    }

    package static let aesBlockBytes = 16

    package func encrypt(_ plain: [UInt8], key: UnsafeRawBufferPointer) -> [UInt8] {
        guard let text = run(plain, key, encrypts: true) else {
            preconditionFailure("OpenSSL lacks this cipher")
        }
        return text
    }

    /// Returns nil if the padding is wrong, as with another key.
    package func decrypt(_ text: [UInt8], key: UnsafeRawBufferPointer) -> [UInt8]? {
        run(text, key, encrypts: false)
    }

    private func run(
        _ input: [UInt8],
        _ key: UnsafeRawBufferPointer,
        encrypts: Bool
    ) -> [UInt8]? {
        precondition(key.count == keyBytes, "the caller checks the key's length")
        guard let context = EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
        defer { EVP_CIPHER_CTX_free(context) }
        let (cipher, vector, repeats): (OpaquePointer?, [UInt8], Int) =
            switch self {
            case .aes128CBC(let vector): (EVP_aes_128_cbc(), vector, 1)
            case .des: (EVP_des_ede3_ecb(), [], 3)
            }
        var whole = (0..<repeats).flatMap { _ in Array(key) }
        defer { wipe(&whole) }
        var output = [UInt8](repeating: 0, count: input.count + Self.aesBlockBytes)
        var (count, rest): (CInt, CInt) = (0, 0)
        guard
            EVP_CipherInit_ex(context, cipher, nil, whole, vector, encrypts ? 1 : 0) == 1,
            EVP_CipherUpdate(context, &output, &count, input, CInt(input.count)) == 1
        else { return nil }
        let isGood = output.withUnsafeMutableBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return false }
            return EVP_CipherFinal_ex(context, start + Int(count), &rest) == 1
        }
        guard isGood else {
            wipe(&output)
            return nil
        }
        output.removeLast(output.count - Int(count + rest))
        return output
    }
}
