import COpenSSL
package import Crypto
import JSON
import System

/// The first operation of a client: what it is, and who.
struct Login {
    private static let fileBytesMax = 64 << 10

    let settings: NATSSettings

    /// The line `CONNECT {…}`. Reads the files of credentials.
    func line(to server: ServerInfo, isSecure: Bool) throws(NATSError) -> [UInt8] {
        var members = try proof(for: server)
        members.append(("name", settings.name))
        members.append(("lang", "swift"))
        members.append(("version", Version.current))
        var json = JSONWriter()
        json.object { json in
            json.member("verbose", false)
            json.member("pedantic", false)
            json.member("tls_required", isSecure)
            // Servers tell such clients about others, and when they leave.
            json.member("protocol", 1)
            json.member("headers", true)
            json.member("no_responders", true)
            for (name, value) in members { json.member(name, value) }
        }
        return Array("CONNECT ".utf8) + json.bytes + Array("\r\n".utf8)
    }

    private func proof(for server: ServerInfo) throws(NATSError) -> [(String, String)] {
        switch settings.authentication {
        case .none: return []
        case .user(let name, let password): return [("user", name), ("pass", password.revealed)]
        case .token(let token): return [("auth_token", token.revealed)]
        case .seed(let file):
            let key = try Self.key(in: file, try Self.content(of: file))
            guard let name = key.publicKey else {
                throw .refused("OpenSSL cannot use the key in \(file)")
            }
            return [("nkey", name), ("sig", try sign(server, key, file))]
        case .credentials(let file):
            let content = try Self.content(of: file)
            guard let token = Self.section("NATS USER JWT", of: content),
                let seed = Self.section("USER NKEY SEED", of: content)
            else {
                throw .refused(
                    "\(file) is not a credentials file of NATS, with a user's JWT and seed; "
                        + "make one with: nsc generate creds"
                )
            }
            let key = try Self.key(in: file, seed)
            return [
                ("jwt", token.revealed), ("sig", try sign(server, key, file)),
            ]
        }
    }

    private func sign(
        _ server: ServerInfo,
        _ key: UserKey,
        _ file: String
    ) throws(NATSError) -> String {
        guard let nonce = server.nonce else {
            throw .refused(
                "the server does not ask for a signature; its configuration has no user with the key in \(file)"
            )
        }
        guard let signature = key.signature(of: nonce) else {
            throw .refused("OpenSSL cannot sign with the key in \(file)")
        }
        return signature
    }

    // MARK: - Files

    private static func content(of file: String) throws(NATSError) -> Secret {
        do throws(FileProblem) {
            var content = try fileContent(file, bytesMax: fileBytesMax, waits: false)
            defer { wipe(&content) }
            return content.withUnsafeBytes { Secret(copying: $0) }
        } catch {
            throw .refused("\(file) cannot be read: \(error.reason)")
        }
    }

    private static func key(in file: String, _ text: Secret) throws(NATSError) -> UserKey {
        let trimmed = text.withBytes { text in
            let isSpace: (UInt8) -> Bool = { $0 <= 0x20 }
            let from = text.firstIndex { !isSpace($0) } ?? text.endIndex
            let to = text.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? from
            return Secret(copying: UnsafeRawBufferPointer(rebasing: text[from..<to]))
        }
        guard let key = UserKey(seed: trimmed) else {
            throw .refused("\(file) holds no seed of a user's key (SU…)")
        }
        return key
    }

    /// The line after `-----BEGIN name-----`.
    private static func section(_ name: String, of file: Secret) -> Secret? {
        file.withBytes { content in
            let lines = content.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            guard
                let head = lines.firstIndex(where: { line in
                    String(decoding: line, as: UTF8.self).contains("BEGIN \(name)")
                }), head + 1 < lines.count
            else { return nil }
            return Secret(copying: UnsafeRawBufferPointer(rebasing: lines[head + 1]))
        }
    }
}

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
