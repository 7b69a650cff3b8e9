import Crypto
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
                throw NATSError(.refused, "OpenSSL cannot use the key in \(file)")
            }
            return [("nkey", name), ("sig", try sign(server, key, file))]
        case .credentials(let file):
            let content = try Self.content(of: file)
            guard let token = Self.section("NATS USER JWT", of: content),
                let seed = Self.section("USER NKEY SEED", of: content)
            else {
                throw NATSError(
                    .refused,
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
            throw NATSError(
                .refused,
                "the server does not ask for a signature; its configuration has no user with the key in \(file)"
            )
        }
        guard let signature = key.signature(of: nonce) else {
            throw NATSError(.refused, "OpenSSL cannot sign with the key in \(file)")
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
            throw NATSError(.refused, "\(file) cannot be read: \(error.reason)")
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
            throw NATSError(.refused, "\(file) holds no seed of a user's key (SU…)")
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
