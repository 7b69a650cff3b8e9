import COpenSSL

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
