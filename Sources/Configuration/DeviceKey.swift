package import Crypto
package import Net
import SLS

/// Who may send, under the name that the operator gave it, and how it is known.
package struct DeviceKey: Sendable, Equatable {
    package static let secretBytes = 16...256
    package static let keysMax = 1000
    /// Patterns of certificate names. Each costs a comparison with every request that shows nothing else.
    static let patternsMax = 256

    /// What a key is taken for.
    package enum Way: Sendable {
        /// As it is.
        case shown
        /// As the secret of an AccessKey, with which SLS's SDKs sign.
        case sls
        /// As that of `x-sluice-signature`.
        case hmac
    }

    /// What metrics and messages call it.
    package var name: String
    /// Nil where certificates alone tell.
    package var secret: Secret?
    /// What SDKs are given beside the secret.
    package var accessKeyID: String?
    /// Nil is every way.
    package var ways: Set<Way>?
    /// Clients with such a name need not show anything.
    package var certificates: [CertificatePattern] = []
    package var rules: SenderRules

    package init(name: String, secret: Secret?, _ rules: SenderRules = SenderRules()) {
        self.name = name
        self.secret = secret
        self.rules = rules
    }

    package func accepts(_ way: Way) -> Bool { ways?.contains(way) ?? true }
}
