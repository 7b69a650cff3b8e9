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
    /// A line break at the end is what a secret read from a file typically has; inside a header it
    /// would also start a header of its own.
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

    /// Long enough for every message that SLS is known to send.
    static let redactedBytesMax = 512

    /// The text with secret and token blotted out, for texts that a server sent: a proxy may well
    /// echo what it was asked. Cut only after that, because half a token is not recognised.
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

    /// Compares where the secret is, so that no copy of it is made for the comparison.
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
