package import Crypto
package import Net
import SLS

/// Who may send, under the name that the operator gave it, and how it is known.
package struct DeviceKey: Sendable, Equatable {
    package static let secretBytes = 16...256
    package static let keysMax = 1000
    /// Each pattern is compared with every request that shows nothing else.
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

/// An entry of `devices.keys`.
extension DeviceKey: SettingGroup {
    init() { self.init(name: "", secret: nil) }

    static var settings: [Setting<DeviceKey>] {
        Setting("name", \.name, .keyName) {
            "the key's name in metrics: 1 to 64 letters, digits, `-`, `_` and `.`"
        }
        .default("required")
        Setting("key", \.secret, .secret(DeviceKey.secretBytes)) {
            "16 to 256 visible ASCII characters, best from `openssl rand -hex 32`"
        }
        .default("required, but for certificates")
        Setting(
            "accept",
            \.ways,
            listOf: .choice(["key": .shown, "sls": .sls, "hmac": .hmac]),
            1...3,
            as: { Set($0) }
        ) {
            "how the key may be proved: `key` (shown as it is), `sls` (as the secret of SLS's "
            "signatures, needs `id`), `hmac` (as that of `x-sluice-signature`). With `hmac` alone "
            "the key never travels"
        }
        .default("every way")
        Setting("id", \.accessKeyID, .keyName) {
            "makes `key` the secret of an AccessKey with this id, which SLS SDKs sign with: 1 to "
            "64 letters, digits, `-`, `_` and `.`"
        }
        Setting("certificate", \.certificates, listOf: .certificatePattern, 1...64) {
            "names in devices' certificates, each with its kind: `dns:`, `ip:`, `uri:`, `mail:`, "
            "or `cn:` where a certificate has nothing else. A device with such a name shows no "
            "key, and `key` may be left out. Needs `tls.client_ca`"
        }
        SenderRules.settings.map { $0.lifted(\.rules) }
    }

    /// The list `keys`.
    static func readAll(_ section: inout Section) -> [DeviceKey]? {
        var keys: [DeviceKey] = []
        var given = GivenIdentities()
        var index = 0
        // An empty list says what no list says.
        if section.isEmptyList("keys") {
            section.know("keys")
            return []
        }
        section.groups("keys", max: DeviceKey.keysMax) { item in
            var item = item
            given.startKey("keys[\(index)]")
            index += 1
            var key = DeviceKey()
            key.readSettings(&item)
            key.check(item, &given)
            item.refuseOthers()
            keys.append(key)
        }
        let patterns = keys.reduce(0) { $0 + $1.certificates.count { $0.only == nil } }
        section.problem("keys", if: patterns > DeviceKey.patternsMax) {
            "have more than \(DeviceKey.patternsMax) names of certificates with a *; each is "
            "compared with every device's"
        }
        return keys
    }

    private func check(_ section: borrowing Section, _ given: inout GivenIdentities) {
        section.problem("name", if: !name.isEmpty && !given.add(name: name)) {
            "\(name) is in the list already; metrics tell keys by their name"
        }
        if let id = accessKeyID, let other = given.add(accessKeyID: id) {
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
        for pattern in section.readableItems("certificate", .certificatePattern) {
            guard let other = given.add(pattern) else { continue }
            section.problem("certificate", "has a name that \(other) has too")
        }
        rules.check(section)
        if !section.has("name") { section.problem("name", "is missing") }
        if !section.has("key"),
            !section.has("certificate") || section.has("accept") || section.has("id")
        {
            section.problem("key", "is missing")
        }
        if let secret, let other = given.add(secret) {
            section.problem("key", "is that of \(other) too; give each a key of its own")
        }
        if section.has("certificate"), !section.report.clientsHaveNames {
            section.problem("certificate") {
                "wants tls.client_ca, a file with the authority that signs devices' certificates"
            }
        }
    }
}

/// What identifies the keys read so far, wrong ones included, so that one run finds all duplicates.
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
