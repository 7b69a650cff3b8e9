package import Crypto

/// An AccessKey, or an STS triple.
package struct Credential: Sendable, Equatable {
    package let accessKeyID: String
    package let secret: Secret
    package let securityToken: Secret?

    package init(accessKeyID: String, secret: Secret, securityToken: Secret? = nil) {
        self.accessKeyID = accessKeyID
        self.secret = secret
        self.securityToken = securityToken
    }
}

extension Credential {
    /// Why the credential cannot be sent, in one sentence without its content; nil when it can.
    ///
    /// A secret read from a file typically ends with a line break, which inside a header would
    /// start another header.
    package var problem: String? {
        func isPrintable(_ bytes: some Collection<UInt8>) -> Bool {
            !bytes.isEmpty && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f }
        }
        let unusable = "is empty or contains a space, a line break or a character other than ASCII"
        if !isPrintable(accessKeyID.utf8) { return "the access key id \(unusable)" }
        if !secret.withBytes({ isPrintable($0) }) { return "the access key secret \(unusable)" }
        if let securityToken, !securityToken.withBytes({ isPrintable($0) }) {
            return "the security token \(unusable)"
        }
        return nil
    }

    /// Enough for every known message of SLS.
    static let redactedBytesMax = 512

    /// Blots out secret and token in a server's text, because a proxy may echo the request. The
    /// text is cut afterwards: half a token would not be recognised.
    package func redacted(_ text: String) -> String {
        var text = text
        for secret in [secret, securityToken].compactMap(\.self) where secret.byteCount > 0 {
            text = secret.withBytes { Self.blotted(text, $0) }
        }
        var bytes = 0
        let kept = text.unicodeScalars.prefix { scalar in
            bytes += UTF8.width(scalar)
            return bytes <= Self.redactedBytesMax
        }
        return String(kept)
    }

    /// Compares inside the secret's memory, so no copy of it is made.
    private static func blotted(_ text: String, _ secret: UnsafeRawBufferPointer) -> String {
        guard text.utf8.count >= secret.count else { return text }
        var bytes = Array(text.utf8)
        defer { wipe(&bytes) }
        var kept: [UInt8] = []
        var position = 0
        while position < bytes.count {
            if bytes[position...].starts(with: secret) {
                kept += "•••".utf8
                position += secret.count
            } else {
                kept.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: kept, as: UTF8.self)
    }
}
