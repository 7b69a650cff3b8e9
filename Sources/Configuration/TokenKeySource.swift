/// An issuer that publishes the keys it signs tokens with: an entry of `devices.jwt.keys` with `keys_url`.
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
