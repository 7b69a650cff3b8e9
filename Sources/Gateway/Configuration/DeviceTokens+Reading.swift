import SLS
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
        section.groups("keys", max: keysMax) { item in
            var item = item
            let key = readKey(&item, algorithm, after: &names)
            let rules = SenderRules.read(&item, destinations: destinations)
            item.refuseOthers()
            guard let key else { return }
            keys.append(key)
            senders.append(rules)
        }
        let audiences = section.list("audience", .text(upTo: 256), counts: 1...8)
        let issuer = section.value("issuer", .text(upTo: 256))
        let leeway = section.value("leeway", .duration(.zero ... .seconds(300)))
        let claim = section.value("destinations_claim", .text(upTo: 256))
        section.refuseOthers()
        guard let algorithm, !keys.isEmpty else { return nil }
        var rules = TokenRules(algorithm: algorithm, keys: keys)
        rules.audiences = audiences ?? []
        rules.issuer = issuer
        if let leeway { rules.leeway = leeway }
        rules.destinationsClaim = claim
        return DeviceTokens(rules: rules, senders: senders)
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
        guard let algorithm else { return nil }
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
        guard let id else { return nil }
        if algorithm.hasSecret { return secret.map { TokenKey(id: id, .secret($0)) } }
        return file.flatMap { publicKey($0, algorithm, section) }.map {
            TokenKey(id: id, .publicKey($0))
        }
    }

    private static func publicKey(
        _ path: String,
        _ algorithm: TokenAlgorithm,
        _ section: borrowing Section
    ) -> PublicKey? {
        do {
            return try PublicKey(
                try fileContent(path, bytesMax: 64 << 10, waits: false),
                algorithm
            )
        } catch let problem as FileProblem {
            section.problem("file", "\(path) cannot be read: \(problem.reason)")
        } catch let problem as PublicKeyProblem {
            section.problem("file", "\(path) \(problem.description)")
        } catch {}
        return nil
    }
}
