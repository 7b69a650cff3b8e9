import COpenSSL
package import SLS

/// The 32 bytes that stored credentials are sealed with, from what an operator wrote.
package struct SealingKey: Sendable {
    let bytes: Secret
    /// Tells one key from another, and reveals neither.
    let mark: [UInt8]

    /// What the operator may write: 64 hexadecimal digits, base64 of 32 bytes, 32 bytes that are no
    /// text, or a passphrase of at least 32 characters.
    package init(_ text: Secret) throws(SecretBoxProblem) {
        let key = text.withBytes { bytes in
            Self.hexDecoded(bytes) ?? Self.base64Decoded(bytes) ?? Self.raw(bytes)
                ?? (bytes.count >= 32
                    ? Self.derived(from: bytes, purpose: "sluice sealing key") : nil)
        }
        guard let key else { throw .keyTooShort }
        bytes = key
        mark = key.withBytes { key in
            Self.derived(from: key, purpose: "sluice sealing key mark").withBytes {
                Array($0.prefix(4))
            }
        }
    }

    private static func raw(_ bytes: UnsafeRawBufferPointer) -> Secret? {
        // 32 characters that can be typed are a passphrase: they hold less than 32 random bytes do.
        let isText = bytes.allSatisfy { (0x20..<0x7f).contains($0) }
        return bytes.count == 32 && !isText ? Secret(copying: bytes) : nil
    }

    private static func hexDecoded(_ bytes: UnsafeRawBufferPointer) -> Secret? {
        guard bytes.count == 64 else { return nil }
        var key: [UInt8] = []
        key.reserveCapacity(32)
        defer { wipe(&key) }
        for index in stride(from: 0, to: 64, by: 2) {
            let digits = bytes[index..<index + 2].map { byte in
                Character(Unicode.Scalar(byte)).hexDigitValue
            }
            guard let high = digits[0], let low = digits[1] else { return nil }
            key.append(UInt8(high << 4 | low))
        }
        return key.withUnsafeBytes { Secret(copying: $0) }
    }

    /// 43 characters and a padding.
    private static func base64Decoded(_ bytes: UnsafeRawBufferPointer) -> Secret? {
        guard bytes.count == 44, bytes[43] == UInt8(ascii: "="), bytes[42] != UInt8(ascii: "=")
        else { return nil }
        var key = [UInt8](repeating: 0, count: 33)
        defer { wipe(&key) }
        let text = bytes.bindMemory(to: UInt8.self).baseAddress
        guard EVP_DecodeBlock(&key, text, 44) == 33 else { return nil }
        return key.withUnsafeBytes { Secret(copying: .init(rebasing: $0[..<32])) }
    }

    /// HKDF-SHA-256 (RFC 5869) without a salt.
    static func derived(from bytes: UnsafeRawBufferPointer, purpose: String) -> Secret {
        var key = [UInt8](repeating: 0, count: 32)
        defer { wipe(&key) }
        var count = key.count
        let info = Array(purpose.utf8)
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil)
        defer { EVP_PKEY_CTX_free(context) }
        let start = bytes.bindMemory(to: UInt8.self).baseAddress
        let isDone =
            EVP_PKEY_derive_init(context) == 1
            && EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) == 1
            && EVP_PKEY_CTX_set1_hkdf_key(context, start, CInt(bytes.count)) == 1
            && EVP_PKEY_CTX_add1_hkdf_info(context, info, CInt(info.count)) == 1
            && EVP_PKEY_derive(context, &key, &count) == 1
        precondition(isDone, "OpenSSL offers no HKDF")
        return key.withUnsafeBytes { Secret(copying: $0) }
    }
}

/// Why a stored credential stays closed.
package enum SecretBoxProblem: Error, Sendable, Equatable, CustomStringConvertible {
    case keyTooShort
    case otherVersion
    case otherKey
    case changed

    package var description: String {
        switch self {
        case .keyTooShort:
            "the encryption key is too short; give 64 hexadecimal digits, base64 of 32 bytes, or a "
                + "passphrase of at least 32 characters (openssl rand -hex 32 makes one)"
        case .otherVersion:
            "the stored credential has a form that this version does not know; push the credential again"
        case .otherKey:
            "the stored credential was sealed with another encryption key; bring that key back, or push "
                + "the credential again"
        case .changed:
            "the stored credential was changed or belongs to another name; push the credential again"
        }
    }
}
