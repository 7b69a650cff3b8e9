import COpenSSL

/// AES-GCM, from OpenSSL: AES-256, or AES-128 with a key of 16 bytes.
package enum AESGCM {
    package static let keyBytes = 32
    package static let nonceBytes = 12
    package static let tagBytes = 16

    /// Returns ciphertext and tag. A nonce must never repeat under the same key.
    package static func seal(
        _ plain: [UInt8],
        key: UnsafeRawBufferPointer,
        nonce: [UInt8],
        associated: [UInt8]
    ) -> [UInt8] {
        let context = Context()
        var sealed = [UInt8](repeating: 0, count: plain.count + tagBytes)
        var count: CInt = 0
        let keyStart = key.bindMemory(to: UInt8.self).baseAddress
        let isDone =
            EVP_EncryptInit_ex(context.raw, cipher(for: key), nil, keyStart, nonce) == 1
            && EVP_EncryptUpdate(context.raw, nil, &count, associated, CInt(associated.count)) == 1
            && EVP_EncryptUpdate(context.raw, &sealed, &count, plain, CInt(plain.count)) == 1
            && EVP_EncryptFinal_ex(context.raw, nil, &count) == 1
        let hasTag = sealed.withUnsafeMutableBytes { bytes in
            let tag = bytes.baseAddress.map { $0 + plain.count }
            return EVP_CIPHER_CTX_ctrl(context.raw, EVP_CTRL_AEAD_GET_TAG, CInt(tagBytes), tag) == 1
        }
        // The calls fail only when OpenSSL was built without the cipher.
        precondition(isDone && hasTag, "OpenSSL lacks AES-GCM")
        return sealed
    }

    /// Returns nil when the key, the nonce, the associated data or any byte differs.
    package static func open(
        _ sealed: ArraySlice<UInt8>,
        key: UnsafeRawBufferPointer,
        nonce: [UInt8],
        associated: [UInt8]
    ) -> [UInt8]? {
        guard sealed.count >= tagBytes else { return nil }
        let context = Context()
        let text = Array(sealed.dropLast(tagBytes))
        var tag = Array(sealed.suffix(tagBytes))
        // One spare byte: an empty array has no address to write to.
        var plain = [UInt8](repeating: 0, count: text.count + 1)
        var count: CInt = 0
        let keyStart = key.bindMemory(to: UInt8.self).baseAddress
        let isGood =
            EVP_DecryptInit_ex(context.raw, cipher(for: key), nil, keyStart, nonce) == 1
            && EVP_DecryptUpdate(context.raw, nil, &count, associated, CInt(associated.count)) == 1
            && EVP_DecryptUpdate(context.raw, &plain, &count, text, CInt(text.count)) == 1
            && EVP_CIPHER_CTX_ctrl(context.raw, EVP_CTRL_AEAD_SET_TAG, CInt(tagBytes), &tag) == 1
            && EVP_DecryptFinal_ex(context.raw, nil, &count) == 1
        // The tag is checked after decryption, so bad plaintext exists for a moment.
        guard isGood else {
            wipe(&plain)
            return nil
        }
        plain.removeLast()
        return plain
    }

    private static func cipher(for key: UnsafeRawBufferPointer) -> OpaquePointer? {
        precondition([16, keyBytes].contains(key.count), "no key of AES-128 or AES-256")
        return key.count == keyBytes ? EVP_aes_256_gcm() : EVP_aes_128_gcm()
    }

    /// Owns the OpenSSL context; freeing it also wipes it.
    private final class Context {
        let raw: OpaquePointer

        init() {
            guard let raw = EVP_CIPHER_CTX_new() else { preconditionFailure("out of memory") }
            self.raw = raw
        }

        deinit { EVP_CIPHER_CTX_free(raw) }
    }
}
