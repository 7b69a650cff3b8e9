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

    /// The senders' names in metrics. A token counts under the key that signed it, because there
    /// are few such keys. No key of `devices.keys` has such a name.
    package var names: [String] { (rules.keys.map(\.id) + sources.map(\.name)).map { "jwt:\($0)" } }
}

/// An issuer that publishes the keys it signs tokens with: an entry of `devices.jwt.keys` with
/// `keys_url`.
package struct TokenKeySource: Sendable, Equatable {
    /// What metrics call it, after "jwt:".
    package var name: String
    package var url: String
    /// A file with the authorities that may vouch for the issuer, in place of the system's.
    package var authorities: String?
    /// How long keys are used before they are fetched again.
    package var refresh: Duration = .seconds(600)

    /// Without its query, as it is shown.
    package var place: String { String(url.prefix { $0 != "?" }) }

    /// The host of an address that can be asked; nil when it is none.
    static func host(of url: String) -> String? {
        guard url.hasPrefix("https://"), url.utf8.count <= 2048,
            url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "#") })
        else { return nil }
        let authority = url.dropFirst("https://".count).prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { return nil }
        let host =
            authority.hasPrefix("[")
            ? authority.prefix { $0 != "]" }.dropFirst() : authority.prefix { $0 != ":" }
        return host.isEmpty ? nil : String(host)
    }
}
