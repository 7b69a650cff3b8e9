import SLS

extension DeviceKey {
    /// The list `keys`.
    static func readAll(
        _ section: inout Section,
        destinations: Set<String>
    ) -> [DeviceKey] {
        var keys: [DeviceKey] = []
        // An empty list says what no list says.
        if section.isEmptyList("keys") {
            section.know("keys")
            return []
        }
        section.groups("keys", max: keysMax) { item in
            var item = item
            let key = read(&item, destinations: destinations, after: keys)
            item.refuseOthers()
            if let key { keys.append(key) }
        }
        return keys
    }

    private static func read(
        _ section: inout Section,
        destinations known: Set<String>,
        after others: [DeviceKey]
    ) -> DeviceKey? {
        let name = section.value("name", .keyName)
        let secret = section.value("key", .secret(bytesMin: secretBytes.lowerBound))
        let rules = SenderRules.read(&section, destinations: known)
        for missing in ["name", "key"] where !section.has(missing) {
            section.problem(missing, "is missing")
        }
        if let name, others.contains(where: { $0.name == name }) {
            section.problem(
                "name",
                "\(name) is in the list already; metrics tell keys by their name"
            )
        }
        if let secret, secret.byteCount > secretBytes.upperBound {
            section.problem("key", "is longer than \(secretBytes.upperBound) characters")
        }
        if let secret, let other = others.first(where: { $0.secret == secret }) {
            section.problem("key", "is that of \(other.name) too; give each a key of its own")
        }
        guard let name, let secret else { return nil }
        return DeviceKey(name: name, secret: secret, rules)
    }
}

extension Kind<String> {
    /// What becomes a label of metrics.
    fileprivate static var keyName: Kind {
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

extension Section {
    fileprivate func isEmptyList(_ key: String) -> Bool {
        if case .sequence(let items) = entries[key]?.value.content { items.isEmpty } else { false }
    }
}
