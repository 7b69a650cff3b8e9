import COpenSSL
package import Crypto

/// A user's key of NATS (nkey): an Ed25519 key, written as its seed in base32.
package struct UserKey: Sendable {
    /// The first byte of a user's public key, whose text begins with U.
    private static let userPrefix: UInt8 = 20 << 3
    /// The same for a seed of any kind of key: S.
    private static let seedPrefix: UInt8 = 18 << 3

    /// 32 bytes.
    private let seed: Secret

    /// Reads `SU…`; nil unless it is the seed of a user's key and its checksum is right.
    package init?(seed text: Secret) {
        let seed: Secret? = text.withBytes { text in
            guard text.count == 58, var raw = Self.base32Decoded(text) else { return nil }
            defer { wipe(&raw) }
            let kind = raw[0] << 5 | raw[1] >> 3
            guard raw[0] & 0xf8 == Self.seedPrefix, kind == Self.userPrefix,
                Self.checksum(raw[..<34]) == UInt16(raw[34]) | UInt16(raw[35]) << 8
            else { return nil }
            return raw[2..<34].withUnsafeBytes { Secret(copying: $0) }
        }
        guard let seed else { return nil }
        self.seed = seed
    }

    /// The public key: `U…`.
    package var publicKey: String? {
        withKey { key in
            var raw = [UInt8](repeating: 0, count: 33)
            raw[0] = Self.userPrefix
            var count = 32
            let isDone = raw.withUnsafeMutableBytes { bytes in
                EVP_PKEY_get_raw_public_key(
                    key,
                    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self).advanced(by: 1),
                    &count
                )
            }
            guard isDone == 1, count == 32 else { return nil }
            let sum = Self.checksum(raw[...])
            return Self.base32(raw + [UInt8(truncatingIfNeeded: sum), UInt8(sum >> 8)])
        }
    }

    /// The signature of a server's nonce, in base64 for URLs.
    package func signature(of nonce: String) -> String? {
        withKey { key in
            guard let context = EVP_MD_CTX_new() else { return nil }
            defer { EVP_MD_CTX_free(context) }
            guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1 else { return nil }
            let message = Array(nonce.utf8)
            var signature = [UInt8](repeating: 0, count: 64)
            var count = signature.count
            guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1,
                count == signature.count
            else { return nil }
            return Digest.base64URL(signature)
        }
    }

    private func withKey<Result>(_ body: (OpaquePointer) -> Result?) -> Result? {
        seed.withBytes { seed in
            let bytes = seed.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, bytes, seed.count)
            else { return nil }
            defer { EVP_PKEY_free(key) }
            return body(key)
        }
    }

    // MARK: - Encoding

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// RFC 4648 section 6, without padding.
    private static func base32Decoded(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(40)
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for digit in text {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
            case UInt8(ascii: "2")...UInt8(ascii: "7"): value = digit - UInt8(ascii: "2") + 26
            default: return nil
            }
            (bits, count) = (bits << 5 | UInt32(value), count + 5)
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> count))
        }
        return bytes
    }

    private static func base32(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var (bits, count): (UInt32, UInt32) = (0, 0)
        for byte in bytes {
            (bits, count) = (bits << 8 | UInt32(byte), count + 8)
            while count >= 5 {
                count -= 5
                text.append(alphabet[Int(bits >> count & 31)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << (5 - count) & 31)]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// CRC-16/XMODEM.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt16 {
        bytes.reduce(0) { sum, byte in
            (0..<8).reduce(sum ^ UInt16(byte) << 8) { sum, _ in
                sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021
            }
        }
    }
}
