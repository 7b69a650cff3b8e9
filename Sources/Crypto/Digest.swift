import COpenSSL
import System

/// Digests and message authentication, from OpenSSL.
package enum Digest {
    package static func md5(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        digest(bytes, EVP_md5(), byteCount: 16)
    }

    package static func sha256(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        digest(bytes, EVP_sha256(), byteCount: 32)
    }

    package static func md5(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { md5($0) }
    }

    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { sha256($0) }
    }

    /// Upper-case hexadecimal, not base64, as SLS wants it in `Content-MD5`.
    package static func md5Hex(_ pieces: [ArraySlice<UInt8>]) -> String {
        hex(digest(pieces, EVP_md5(), byteCount: 16), upper: true)
    }

    /// Lower-case hexadecimal, as SLS wants it in `x-log-content-sha256`.
    package static func sha256Hex(_ bytes: [UInt8]) -> String {
        hex(sha256(bytes))
    }

    package static func sha256Hex(_ pieces: [ArraySlice<UInt8>]) -> String {
        hex(digest(pieces, EVP_sha256(), byteCount: 32))
    }

    package static func sha256Hex(_ text: String) -> String {
        sha256Hex(Array(text.utf8))
    }

    package static func hmacSHA1(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        key.withUnsafeBytes { authenticate(message, key: $0, EVP_sha1(), byteCount: 20) }
    }

    package static func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        key.withUnsafeBytes { authenticate(message, key: $0, EVP_sha256(), byteCount: 32) }
    }

    package static func hmacSHA1(key: UnsafeRawBufferPointer, _ message: [UInt8]) -> [UInt8] {
        authenticate(message, key: key, EVP_sha1(), byteCount: 20)
    }

    package static func hmacSHA256(key: UnsafeRawBufferPointer, _ message: [UInt8]) -> [UInt8] {
        authenticate(message, key: key, EVP_sha256(), byteCount: 32)
    }

    /// Writes the 32 bytes to `place`, without an array.
    package static func hmacSHA256(
        key: UnsafeRawBufferPointer,
        _ message: UnsafeBufferPointer<UInt8>,
        to place: UnsafeMutablePointer<UInt8>
    ) {
        let done = HMAC(
            EVP_sha256(),
            key.baseAddress ?? noBytes,
            CInt(key.count),
            message.baseAddress,
            message.count,
            place,
            nil
        )
        precondition(done != nil, "OpenSSL lacks this digest")
    }

    package static func hmacSHA1(key: UnsafeRawBufferPointer, _ message: String) -> [UInt8] {
        hmacSHA1(key: key, Array(message.utf8))
    }

    package static func hmacSHA256(key: UnsafeRawBufferPointer, _ message: String) -> [UInt8] {
        hmacSHA256(key: key, Array(message.utf8))
    }

    package static func hmacSHA256(key: [UInt8], _ message: String) -> [UInt8] {
        hmacSHA256(key: key, Array(message.utf8))
    }

    /// RFC 4648 section 4, with padding, on one line.
    package static func base64(_ bytes: [UInt8]) -> String {
        // EVP_EncodeBlock also writes a NUL, which String leaves out.
        String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { text in
            Int(EVP_EncodeBlock(text.baseAddress, bytes, CInt(bytes.count)))
        }
    }

    /// RFC 4648 section 5, without padding.
    package static func base64URL(_ bytes: [UInt8]) -> String {
        let text: [UInt8] = base64(bytes).utf8.compactMap { digit in
            switch digit {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: digit
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Compares in constant time, so timing does not reveal the first difference.
    package static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
    }

    private static func digest(
        _ bytes: UnsafeRawBufferPointer,
        _ algorithm: OpaquePointer?,
        byteCount: Int
    ) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { output, filled in
            let done = EVP_Digest(
                bytes.baseAddress,
                bytes.count,
                output.baseAddress,
                nil,
                algorithm,
                nil
            )
            // Fails only when OpenSSL lacks the algorithm, and then no request can ever be signed.
            precondition(done == 1, "OpenSSL lacks this digest")
            filled = byteCount
        }
    }

    /// The digest of the pieces, one after the other.
    private static func digest(
        _ pieces: [ArraySlice<UInt8>],
        _ algorithm: OpaquePointer?,
        byteCount: Int
    ) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var done = EVP_DigestInit_ex(context, algorithm, nil)
        for piece in pieces where done == 1 {
            done = piece.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
        }
        return [UInt8](unsafeUninitializedCapacity: byteCount) { output, filled in
            if done == 1 { done = EVP_DigestFinal_ex(context, output.baseAddress, nil) }
            precondition(done == 1, "OpenSSL lacks this digest")
            filled = byteCount
        }
    }

    private static func authenticate(
        _ message: [UInt8],
        key: UnsafeRawBufferPointer,
        _ algorithm: OpaquePointer?,
        byteCount: Int
    ) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { output, filled in
            let done = HMAC(
                algorithm,
                key.baseAddress ?? noBytes,
                CInt(key.count),
                message,
                message.count,
                output.baseAddress,
                nil
            )
            precondition(done != nil, "OpenSSL lacks this digest")
            filled = byteCount
        }
    }
}

/// The address of an empty key. OpenSSL would read a null pointer as "keep the current key".
private nonisolated(unsafe) let noBytes = UnsafeRawPointer(bitPattern: 1)
