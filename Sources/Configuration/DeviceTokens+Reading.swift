import Crypto
import SLS
import System
import Tokens

/// The group `jwt`.
extension DeviceTokens {
    /// Nil without the group, and where it is wrong, which is reported.
    static func read(
        _ section: consuming Section,
        destinations: Set<String>
    ) -> DeviceTokens? {
        guard section.isInFile else { return nil }
        let algorithm = section.value(
            "algorithm",
            .choice(["HS256": TokenAlgorithm.hs256, "RS256": .rs256, "ES256": .es256])
        )
        if !section.has("algorithm") {
            section.problem(
                "algorithm",
                "is missing: HS256, RS256 or ES256, which the issuer signs with"
            )
        }
        if !section.has("keys") { section.problem("keys", "is missing") }
        var keys: [TokenKey] = []
        // Also those of keys that are wrong otherwise.
        var names: Set<String> = []
        var senders: [SenderRules] = []
        var sources: [TokenKeySource] = []
        var sourceSenders: [SenderRules] = []
        section.groups("keys", max: keysMax) { item in
            var item = item
            if item.has("keys_url") {
                let source = readSource(&item, algorithm, after: &names)
                let rules = SenderRules.read(&item, destinations: destinations)
                item.refuseOthers()
                guard let source else { return }
                sources.append(source)
                sourceSenders.append(rules)
                return
            }
            let key = readKey(&item, algorithm, after: &names)
            let rules = SenderRules.read(&item, destinations: destinations)
            item.refuseOthers()
            guard let key else { return }
            keys.append(key)
            senders.append(rules)
        }
        if sources.count > sourcesMax {
            section.problem(
                "keys",
                "have \(sources.count) with keys_url; \(sourcesMax) are taken at most"
            )
        }
        let audiences = section.list("audience", .text(upTo: 256), counts: 1...8)
        let issuer = section.value("issuer", .text(upTo: 256))
        let leeway = section.value("leeway", .duration(.zero ... .seconds(300)))
        let claim = section.value("destinations_claim", .text(upTo: 256))
        section.refuseOthers()
        guard let algorithm, !(keys.isEmpty && sources.isEmpty) else { return nil }
        var rules = TokenRules(algorithm: algorithm, keys: keys)
        rules.audiences = audiences ?? []
        rules.issuer = issuer
        if let leeway { rules.leeway = leeway }
        rules.destinationsClaim = claim
        return DeviceTokens(rules: rules, sources: sources, senders: senders + sourceSenders)
    }

    /// An entry whose keys are fetched.
    private static func readSource(
        _ section: inout Section,
        _ algorithm: TokenAlgorithm?,
        after others: inout Set<String>
    ) -> TokenKeySource? {
        let url = section.value("keys_url", .keysURL)
        let name = section.value("name", .keyName)
        let authorities = section.value("ca_file", .readableFile)
        let refresh = section.value("refresh", .duration(.seconds(60) ... .seconds(86_400)))
        if algorithm?.hasSecret == true {
            section.problem(
                "keys_url",
                "is of no use for HS256, whose keys are secrets; write algorithm: RS256 or ES256"
            )
        }
        for key in ["kid", "secret", "file"] where section.has(key) {
            section.know(key)
            section.problem(key, "is of no use beside keys_url, which gives keys with their names")
        }
        let host = url.flatMap { TokenKeySource.host(of: $0) } ?? ""
        let shown = name ?? (section.has("name") ? nil : try? Kind<String>.keyName.parse(host))
        if url != nil, shown == nil, !section.has("name") {
            section.problem(
                "name",
                "is missing; metrics call the keys by it, and the host cannot be one"
            )
        }
        if let shown, !others.insert(shown).inserted {
            section.problem(
                "name",
                "\(shown) is in the list already; give one of them another name"
            )
        }
        guard let url, let shown else { return nil }
        var source = TokenKeySource(name: shown, url: url, authorities: authorities)
        if let refresh { source.refresh = refresh }
        return source
    }

    private static func readKey(
        _ section: inout Section,
        _ algorithm: TokenAlgorithm?,
        after others: inout Set<String>
    ) -> TokenKey? {
        let id = section.value("kid", .keyName)
        let secret = section.value("secret", .secret(bytesMin: TokenKey.secretBytes.lowerBound))
        let file = section.value("file", .path)
        if !section.has("kid") { section.problem("kid", "is missing") }
        if let id, !others.insert(id).inserted {
            section.problem("kid", "\(id) is in the list already")
        }
        guard let algorithm else {
            // It would be the wrong kind of key for some algorithm, but a file that is not there is so for all.
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
        if let secret, secret.byteCount > TokenKey.secretBytes.upperBound {
            section.problem(
                "secret",
                "is longer than \(TokenKey.secretBytes.upperBound) characters"
            )
        }
        if algorithm.hasSecret {
            guard let id else { return nil }
            return secret.map { TokenKey(id: id, .secret($0)) }
        }
        let key = file.flatMap { publicKey($0, algorithm, section) }
        guard let id, let key else { return nil }
        return TokenKey(id: id, .publicKey(key))
    }

    private static func publicKey(
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

    private static func content(of path: String, _ section: borrowing Section) -> [UInt8]? {
        do throws(FileProblem) {
            return try fileContent(path, bytesMax: 64 << 10, waits: false)
        } catch {
            section.problem("file", "\(path) cannot be read: \(error.reason)")
            return nil
        }
    }
}

extension Kind<String> {
    fileprivate static var keysURL: Kind {
        Kind(wants: "a URL such as https://login.example.com/jwks.json") { text throws(Mismatch) in
            guard TokenKeySource.host(of: text) != nil else {
                throw Mismatch(
                    "is not an https address without a user; write one such as "
                        + "https://login.example.com/.well-known/jwks.json"
                )
            }
            return text
        }
    }
}
