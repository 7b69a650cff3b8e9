import Crypto
import SLS
import System
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

    /// The senders' names in metrics. A token counts under the key that signed it: there are few
    /// keys.
    package var names: [String] { (rules.keys.map(\.id) + sources.map(\.name)).map { "jwt:\($0)" } }
}

/// An entry of `devices.jwt.keys` with `keys_url`: an issuer that publishes its keys.
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

/// The group `devices.jwt` as the file has it.
struct DeviceTokensEntry: SettingGroup {
    private var algorithm: TokenAlgorithm?
    /// The algorithm and the keys come last, when all of them are read.
    private var rules = TokenRules(algorithm: .hs256, keys: [])

    static var settings: [Setting<DeviceTokensEntry>] {
        Setting("algorithm", \.algorithm, .word) {
            "`HS256`, `RS256` or `ES256`; tokens with any other are refused"
        }
        .default("required")
        Setting("keys", .list { keyDescriptions }) {
            "32 at most. With `HS256` each has a `secret`, else a `file`; an entry with `keys_url` "
            "has all [keys of an issuer](access.md#keys-from-the-issuer)"
        } read: { section, _ in
            // Read later, with the algorithm.
            section.know("keys")
            return section.has("keys")
        }
        .default("required")
        Setting("audience", \.rules.audiences, listOf: .text(upTo: 256), 1...8) {
            "up to 8; one must be in `aud`. Without it a token may have no `aud`"
        }
        Setting("issuer", \.rules.issuer, .text(upTo: 256)) { "must be `iss`" }
        Setting("leeway", \.rules.leeway, .duration(.zero ... .seconds(300))) {
            "the tolerated clock difference for `exp`, `nbf` and `iat`, at most 5m. A token must "
            "have `exp`, and may have the others"
        }
        .default("60s")
        Setting("destinations_claim", \.rules.destinationsClaim, .text(upTo: 256)) {
            "a claim that lists the token's destinations, as a list or as one text with spaces. It "
            "can only restrict the key's destinations, and a token without it is refused"
        }
    }

    /// The settings of one entry of `keys`.
    static var keyDescriptions: [SettingDescription] {
        TokenKeyEntry.descriptions + TokenSourceEntry.ownDescriptions
    }

    /// Nil without the group, and where it is wrong, which is reported.
    static func read(_ section: consuming Section) -> DeviceTokens? {
        guard section.isInFile else { return nil }
        var entry = DeviceTokensEntry()
        entry.readSettings(&section)
        section.problem("algorithm", if: !section.has("algorithm")) {
            "is missing: HS256, RS256 or ES256, which the issuer signs with"
        }
        if !section.has("keys") { section.problem("keys", "is missing") }
        var keys: [(TokenKey, SenderRules)] = []
        var sources: [(TokenKeySource, SenderRules)] = []
        // Also those of keys that are wrong otherwise.
        var names: Set<String> = []
        section.groups("keys", max: DeviceTokens.keysMax) { item in
            if item.has("keys_url") {
                sources.append(TokenSourceEntry.read(item, entry.algorithm, after: &names))
            } else if let key = TokenKeyEntry.read(item, entry.algorithm, after: &names) {
                keys.append(key)
            }
        }
        section.problem("keys", if: sources.count > DeviceTokens.sourcesMax) {
            "have \(sources.count) with keys_url; \(DeviceTokens.sourcesMax) are taken at most"
        }
        section.refuseOthers()
        guard let algorithm = entry.algorithm, !(keys.isEmpty && sources.isEmpty) else {
            return nil
        }
        entry.rules.algorithm = algorithm
        entry.rules.keys = keys.map(\.0)
        return DeviceTokens(
            rules: entry.rules,
            sources: sources.map(\.0),
            senders: keys.map(\.1) + sources.map(\.1)
        )
    }
}

/// An entry of `devices.jwt.keys` with a key.
private struct TokenKeyEntry: SettingGroup {
    private var id: String?
    private var secret: Secret?
    private var file: String?
    private var rules = SenderRules()

    static var settings: [Setting<TokenKeyEntry>] {
        Setting("kid", \.id, .keyName) {
            "the key's name in tokens; with one key a token may leave it out. Issuers may use the "
            "same name: each key of that name is tried"
        }
        .default("required")
        Setting("secret", \.secret, .secret(TokenKey.secretBytes)) {
            "with `HS256`: 32 to 256 visible ASCII characters, which the issuer has too"
        }
        Setting("file", \.file, .path) {
            "else: the issuer's public key in PEM (RSA from 2048 bits, or P-256), which SIGHUP "
            "reads again"
        }
        SenderRules.settings.map { $0.lifted(\.rules) }
    }

    static func read(
        _ section: consuming Section,
        _ algorithm: TokenAlgorithm?,
        after others: inout Set<String>
    ) -> (TokenKey, SenderRules)? {
        var entry = TokenKeyEntry()
        entry.readSettings(&section)
        let key = entry.key(section, algorithm, after: &others)
        entry.rules.check(section)
        section.refuseOthers()
        return key.map { ($0, entry.rules) }
    }

    private func key(
        _ section: borrowing Section,
        _ algorithm: TokenAlgorithm?,
        after others: inout Set<String>
    ) -> TokenKey? {
        if !section.has("kid") { section.problem("kid", "is missing") }
        if let id, !others.insert(id).inserted {
            section.problem("kid", "\(id) is in the list already")
        }
        guard let algorithm else {
            // Without an algorithm the kind of key is unknown, but a missing file is wrong for all.
            if let file { _ = content(of: file, section) }
            return nil
        }
        let (wanted, other) = algorithm.hasSecret ? ("secret", "file") : ("file", "secret")
        if !section.has(wanted) {
            let remedy =
                algorithm.hasSecret
                ? "wants secret, which the issuer has too"
                : "wants file, with the public key in PEM"
            section.problem(wanted, "is missing; \(algorithm.rawValue) \(remedy)")
        }
        if section.has(other) {
            section.problem(other, "is of no use for \(algorithm.rawValue), which wants \(wanted)")
        }
        if algorithm.hasSecret {
            guard let id else { return nil }
            return secret.map { TokenKey(id: id, .secret($0)) }
        }
        let key = file.flatMap { publicKey($0, algorithm, section) }
        guard let id, let key else { return nil }
        return TokenKey(id: id, .publicKey(key))
    }

    private func publicKey(
        _ path: String,
        _ algorithm: TokenAlgorithm,
        _ section: borrowing Section
    ) -> PublicKey? {
        guard let text = content(of: path, section) else { return nil }
        do throws(PublicKeyProblem) {
            return try PublicKey(text, algorithm)
        } catch {
            section.problem("file", "\(path) \(error.description)")
            return nil
        }
    }

    private func content(of path: String, _ section: borrowing Section) -> [UInt8]? {
        do throws(FileProblem) {
            return try fileContent(path, bytesMax: 64 << 10, waits: false)
        } catch {
            section.problem("file", "\(path) cannot be read: \(error.reason)")
            return nil
        }
    }
}

/// An entry of `devices.jwt.keys` whose keys are fetched.
private struct TokenSourceEntry: SettingGroup {
    private var source = TokenKeySource(name: "", url: "")
    private var rules = SenderRules()

    static var settings: [Setting<TokenSourceEntry>] {
        ownSettings
        SenderRules.settings.map { $0.lifted(\.rules) }
    }

    /// Without those that entries with a key have too.
    static var ownDescriptions: [SettingDescription] { ownSettings.map(\.description) }

    @SettingRows<TokenSourceEntry> private static var ownSettings: [Setting<TokenSourceEntry>] {
        Setting("keys_url", \.source.url, TokenKeySource.urlKind) {
            "in place of `kid`: where the issuer publishes its keys (JWK Set, RFC 7517)"
        }
        .default("none")
        Setting("name", \.source.name, .keyName) { "with `keys_url`: what metrics call the issuer" }
            .default("the host of `keys_url`")
        Setting("ca_file", \.source.authorities, .readableFile) {
            "with `keys_url`: the authority of the issuer's certificate"
        }
        .default("the system's")
        Setting("refresh", \.source.refresh, .duration(.seconds(60) ... .seconds(86_400))) {
            "with `keys_url`: how long fetched keys are used"
        }
    }

    static func read(
        _ section: consuming Section,
        _ algorithm: TokenAlgorithm?,
        after others: inout Set<String>
    ) -> (TokenKeySource, SenderRules) {
        var entry = TokenSourceEntry()
        entry.readSettings(&section)
        for key in ["kid", "secret", "file"] where section.has(key) {
            section.know(key)
            section.problem(key, "is of no use beside keys_url, which gives keys with their names")
        }
        entry.check(section, algorithm, after: &others)
        entry.rules.check(section)
        section.refuseOthers()
        return (entry.source, entry.rules)
    }

    private mutating func check(
        _ section: borrowing Section,
        _ algorithm: TokenAlgorithm?,
        after others: inout Set<String>
    ) {
        section.problem("keys_url", if: algorithm?.hasSecret == true) {
            "is of no use for HS256, whose keys are secrets; write algorithm: RS256 or ES256"
        }
        let host = TokenKeySource.host(of: source.url) ?? ""
        if !section.has("name"), isNameOfLetters(host) {
            source.name = host
        } else if !section.has("name"), !host.isEmpty {
            section.problem("name") {
                "is missing; metrics call the keys by it, and the host cannot be one"
            }
        }
        section.problem("name", if: !source.name.isEmpty && !others.insert(source.name).inserted) {
            "\(source.name) is in the list already; give one of them another name"
        }
    }
}

extension TokenKeySource {
    fileprivate static var urlKind: Kind<String> {
        .text("a URL such as https://login.example.com/jwks.json", show: { _ in .hidden }) {
            TokenKeySource.host(of: $0) != nil
                ? nil
                : "is not an https address without a user; write one such as "
                    + "https://login.example.com/.well-known/jwks.json"
        }
    }
}
