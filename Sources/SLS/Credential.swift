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

    /// What a server, or a proxy before it, may echo.
    package var secrets: [Secret] { [secret, securityToken].compactMap(\.self) }

    /// A server's text without secret and token.
    package func redacted(_ text: String) -> String {
        EchoMask(secrets).blotted(text, bytesMax: Self.redactedBytesMax)
    }
}
