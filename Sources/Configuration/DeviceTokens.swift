package import Tokens

/// Tokens that are taken in place of a key, and what who has one may.
package struct DeviceTokens: Sendable, Equatable {
    package static let keysMax = 32
    package static let sourcesMax = 4

    package var rules: TokenRules
    /// Issuers that publish further keys.
    package var sources: [TokenKeySource] = []
    /// By the place of the token's key in the rules; those of `sources` behind.
    package var senders: [SenderRules]

    /// What metrics call whoever shows a token: the key it was signed with, of which there are few. No key of
    /// `devices.keys` has such a name.
    package var names: [String] { (rules.keys.map(\.id) + sources.map(\.name)).map { "jwt:\($0)" } }
}
