import Crypto
import Net
import SLS

extension DeviceKey {
    /// The list `keys`.
    static func readAll(
        _ section: inout Section,
        destinations: Set<String>,
        clientsHaveNames: Bool
    ) -> [DeviceKey] {
        var keys: [DeviceKey] = []
        var given = GivenIdentities()
        var index = 0
        // An empty list says what no list says.
        if section.isEmptyList("keys") {
            section.know("keys")
            return []
        }
        section.groups("keys", max: keysMax) { item in
            var item = item
            given.startKey("keys[\(index)]")
            index += 1
            let key = read(&item, destinations: destinations, &given)
            if item.has("certificate"), !clientsHaveNames {
                item.problem(
                    "certificate",
                    "wants tls.client_ca, a file with the authority that signs devices' certificates"
                )
            }
            item.refuseOthers()
            if let key { keys.append(key) }
        }
        if keys.reduce(0, { $0 + $1.certificates.count { $0.only == nil } })
            > patternsMax
        {
            section.problem(
                "keys",
                "have more than \(patternsMax) names of certificates with a *; each is "
                    + "compared with every device's"
            )
        }
        return keys
    }

    private static func read(
        _ section: inout Section,
        destinations known: Set<String>,
        _ given: inout GivenIdentities
    ) -> DeviceKey? {
        let name = section.value("name", .keyName)
        if let name, !given.add(name: name) {
            section.problem(
                "name",
                "\(name) is in the list already; metrics tell keys by their name"
            )
        }
        let secret = section.value("key", .secret(bytesMin: secretBytes.lowerBound))
        let ways = section.list(
            "accept",
            .choice(["key": Way.shown, "sls": .sls, "hmac": .hmac]),
            counts: 1...3
        )
        let id = readAccessKeyID(&section, ways, &given)
        let certificates = readCertificates(&section, &given)
        let rules = SenderRules.read(&section, destinations: known)
        if !section.has("name") { section.problem("name", "is missing") }
        if !section.has("key"),
            !section.has("certificate") || section.has("accept") || section.has("id")
        {
            section.problem("key", "is missing")
        }
        if let secret, secret.byteCount > secretBytes.upperBound {
            section.problem("key", "is longer than \(secretBytes.upperBound) characters")
        }
        if let secret, let other = given.add(secret) {
            section.problem("key", "is that of \(other) too; give each a key of its own")
        }
        guard let name, secret != nil || !certificates.isEmpty else { return nil }
        var key = DeviceKey(name: name, secret: secret, rules)
        key.ways = ways.map { Set($0) }
        key.accessKeyID = id
        key.certificates = certificates
        return key
    }

    private static func readAccessKeyID(
        _ section: inout Section,
        _ ways: [Way]?,
        _ given: inout GivenIdentities
    ) -> String? {
        let id = section.value("id", .keyName)
        if let id, let other = given.add(accessKeyID: id) {
            section.problem("id", "is that of \(other) too; give each an id of its own")
        }
        if let ways, ways.contains(.sls) != section.has("id") {
            section.problem(
                section.has("id") ? "id" : "accept",
                section.has("id")
                    ? "is what SDKs sign with, and accept leaves that out; add sls to it"
                    : "has sls, which wants id: the AccessKey id that SDKs are given beside the key"
            )
        }
        return id
    }

    private static func readCertificates(
        _ section: inout Section,
        _ given: inout GivenIdentities
    ) -> [CertificatePattern] {
        let patterns = section.list("certificate", .certificatePattern, counts: 1...64) ?? []
        for pattern in section.readableItems("certificate", .certificatePattern) {
            guard let other = given.add(pattern) else { continue }
            section.problem("certificate", "has a name that \(other) has too")
        }
        return patterns
    }
}

/// What the keys read so far are known by, also those with mistakes: two keys that share something are told in the
/// same run as the mistakes.
private struct GivenIdentities {
    private var names: Set<String> = []
    private var secrets: [(secret: Secret, owner: String)] = []
    private var accessKeyIDs: [String: String] = [:]
    private var certificates: [CertificatePattern: (owner: String, place: String)] = [:]
    private var place = ""
    /// The key that is being read: its name, or its place where that is wrong.
    private var owner = ""

    mutating func startKey(_ place: String) {
        self.place = place
        owner = place
    }

    /// False when another has it.
    mutating func add(name: String) -> Bool {
        owner = name
        return names.insert(name).inserted
    }

    /// Gives the other that has it.
    mutating func add(_ secret: Secret) -> String? {
        if let other = secrets.first(where: { $0.secret == secret }) { return other.owner }
        secrets.append((secret, owner))
        return nil
    }

    mutating func add(accessKeyID id: String) -> String? {
        if let other = accessKeyIDs[id] { return other }
        accessKeyIDs[id] = owner
        return nil
    }

    /// One key may repeat a name of its own.
    mutating func add(_ pattern: CertificatePattern) -> String? {
        if let other = certificates[pattern] { return other.place == place ? nil : other.owner }
        certificates[pattern] = (owner, place)
        return nil
    }
}

extension Kind<CertificatePattern> {
    static var certificatePattern: Kind {
        Kind(wants: "a name such as dns:phone-*.example.com") { text throws(Mismatch) in
            guard let pattern = CertificatePattern(text) else {
                throw Mismatch(
                    "\(quoted(text)) is not a kind (\(CertificatePattern.kinds.joined(separator: ", "))) and a "
                        + "name with one * at most, as in dns:phone-*.example.com"
                )
            }
            return pattern
        }
    }
}

extension Kind<String> {
    /// What becomes a label of metrics.
    static var keyName: Kind {
        Kind(wants: "a name") { text throws(Mismatch) in
            let isName = text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                    UInt8(ascii: "."):
                    true
                default: false
                }
            }
            guard isName, (1...64).contains(text.utf8.count) else {
                throw Mismatch("a name has 1 to 64 letters, digits, '-', '_' and '.'")
            }
            return text
        }
    }
}
