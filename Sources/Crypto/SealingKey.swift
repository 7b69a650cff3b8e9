import COpenSSL
import System

/// The operator's key, which seals stored credentials.
package struct SealingKey: Sendable {
    /// The 32 bytes of version 1: as written, or derived from a passphrase without a salt.
    package let plainBytes: Secret
    private let passphrase: Secret?

    private static let passphraseBytesMin = 32
    /// Even a slow derivation makes no key from one repeated character.
    private static let differentBytesMin = 8

    /// From 64 hexadecimal digits, base64 of 32 bytes, or a passphrase of 32 characters or more.
    package init(_ text: Secret) throws(SecretBoxProblem) {
        let written = text.withBytes { Self.hexDecoded($0) ?? Self.base64Decoded($0) }
        if let written {
            (plainBytes, passphrase) = (written, nil)
            return
        }
        guard text.byteCount >= Self.passphraseBytesMin else { throw .keyTooShort }
        guard text.withBytes({ Set($0).count }) >= Self.differentBytesMin else {
            throw .keyTooSimple
        }
        guard Scrypt.isOffered else { throw .passphraseNotOffered }
        (plainBytes, passphrase) = (text.withBytes { Self.asVersion1($0) }, text)
    }

    /// True when the 32 bytes must be derived, slowly and with a salt.
    package var isPassphrase: Bool { passphrase != nil }

    /// The 32 bytes, derived with the salt unless the key was written as bytes.
    package func bytes(salt: [UInt8]) -> Secret {
        guard let passphrase else { return plainBytes }
        return passphrase.withBytes { Scrypt.key(from: $0, salt: salt) }
    }

    /// A fingerprint that tells two keys apart and reveals neither.
    package static func mark(of key: Secret) -> [UInt8] {
        key.withBytes { key in
            derived(from: key, purpose: "sluice sealing key mark").withBytes {
                Array($0.prefix(4))
            }
        }
    }

    /// Version 1 used 32 bytes that are not plain text as they are, and derived the key from any
    /// other text without a salt.
    private static func asVersion1(_ bytes: UnsafeRawBufferPointer) -> Secret {
        let isText = bytes.allSatisfy { (0x20..<0x7f).contains($0) }
        return bytes.count == 32 && !isText
            ? Secret(copying: bytes) : derived(from: bytes, purpose: "sluice sealing key")
    }

    private static func hexDecoded(_ bytes: UnsafeRawBufferPointer) -> Secret? {
        guard bytes.count == 64 else { return nil }
        var key: [UInt8] = []
        key.reserveCapacity(32)
        defer { wipe(&key) }
        for index in stride(from: 0, to: 64, by: 2) {
            guard let high = hexValue(bytes[index]), let low = hexValue(bytes[index + 1])
            else { return nil }
            key.append(high << 4 | low)
        }
        return key.withUnsafeBytes { Secret(copying: $0) }
    }

    /// Base64 of 32 bytes has 43 characters and one padding character.
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
    package static func derived(from bytes: UnsafeRawBufferPointer, purpose: String) -> Secret {
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

/// The reason why a stored credential cannot be opened or sealed.
package enum SecretBoxProblem: Error, Sendable, Equatable, CustomStringConvertible {
    case keyTooShort
    case keyTooSimple
    case passphraseNotOffered
    case otherVersion
    case otherKey
    case changed

    package var description: String {
        switch self {
        case .keyTooShort:
            "the encryption key is too short; give 64 hexadecimal digits, base64 of 32 bytes, or a "
                + "passphrase of at least 32 characters (openssl rand -hex 32 makes one)"
        case .keyTooSimple:
            "the encryption key has too few different characters; openssl rand -hex 32 makes one"
        case .passphraseNotOffered:
            "OpenSSL cannot derive a key from a passphrase here (FIPS mode?); give 64 hexadecimal digits, openssl rand "
                + "-hex 32 makes them"
        case .otherVersion:
            "this version does not know the stored credential's format; push the credential again"
        case .otherKey:
            "the stored credential was sealed with another encryption key; bring that key back, or push "
                + "the credential again"
        case .changed:
            "the stored credential was changed or belongs to another name; push the credential again"
        }
    }
}

/// Derives a key from a passphrase with scrypt (RFC 7914), slowly enough to make guessing
/// expensive: about a tenth of a second and 16 MiB.
package enum Scrypt {
    package static let saltBytes = 16
    private static let cost: UInt64 = 1 << 14
    private static let blockSize: UInt64 = 8
    private static let parallel: UInt64 = 5
    private static let memoryMax: UInt64 = 64 << 20

    /// False when OpenSSL runs in FIPS mode, which has no scrypt.
    package static var isOffered: Bool {
        EVP_PBE_scrypt("", 0, [0], 1, 2, 1, 1, memoryMax, nil, 0) == 1
    }

    package static func key(from passphrase: UnsafeRawBufferPointer, salt: [UInt8]) -> Secret {
        key(from: passphrase, salt: salt, cost: cost, blockSize: blockSize, parallel: parallel)
    }

    package static func key(
        from passphrase: UnsafeRawBufferPointer,
        salt: [UInt8],
        cost: UInt64,
        blockSize: UInt64,
        parallel: UInt64
    ) -> Secret {
        var key = [UInt8](repeating: 0, count: AESGCM.keyBytes)
        defer { wipe(&key) }
        let text = passphrase.bindMemory(to: CChar.self).baseAddress
        let isDone =
            EVP_PBE_scrypt(
                text,
                passphrase.count,
                salt,
                salt.count,
                cost,
                blockSize,
                parallel,
                memoryMax,
                &key,
                key.count
            ) == 1
        precondition(isDone, "out of memory")
        return key.withUnsafeBytes { Secret(copying: $0) }
    }
}
