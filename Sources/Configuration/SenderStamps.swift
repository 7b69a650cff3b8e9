/// What the gateway has verified of a sender, and the names under which the logs of a destination get it.
package struct SenderStamps: Sendable, Equatable {
    package enum Fact: String, Sendable, CaseIterable {
        /// The address of the client, through proxies that are trusted.
        case clientIP = "client_ip"
        /// The name of the key in `devices.keys`, or `jwt:KID`.
        case key
        /// `sub` of the token.
        case subject
        /// The first name of the client's certificate, with its kind.
        case certificate
        /// The answer's `x-log-requestid`.
        case receipt
    }

    package struct Label: Sendable, Equatable {
        package let fact: Fact
        /// Without `__tag__:`.
        package let name: String
        /// A tag of the stream, not a field of each log.
        package let isTag: Bool

        static let tagPrefix = "__tag__:"

        /// As the configuration has it.
        package var written: String { isTag ? Self.tagPrefix + name : name }
    }

    package var labels: [Label] = []

    package var isEmpty: Bool { labels.isEmpty }
}

extension SenderStamps {
    /// The group `stamp` of a destination. `tags` are the operator's own.
    static func read(_ section: consuming Section, tags: [String]) -> SenderStamps {
        var stamps = SenderStamps()
        for fact in Fact.allCases {
            let key = fact.rawValue
            guard let written = section.value(key, .stampName) else { continue }
            let isTag = written.hasPrefix(Label.tagPrefix)
            let name = isTag ? String(written.dropFirst(Label.tagPrefix.utf8.count)) : written
            if let other = stamps.labels.first(where: { $0.name == name }) {
                section.problem(
                    key,
                    "\(quoted(name)) is what \(other.fact.rawValue) is called; give each a name of its own"
                )
            }
            if tags.contains(name) {
                section.problem(
                    key,
                    "\(quoted(name)) is in tags too, which say what the operator knows; choose another name"
                )
            }
            stamps.labels.append(Label(fact: fact, name: name, isTag: isTag))
        }
        section.refuseOthers()
        return stamps
    }
}

extension Kind<String> {
    /// The name of a field, or `__tag__:` and that of a tag.
    fileprivate static var stampName: Kind {
        Kind(wants: "the name of a field, or __tag__: and the name of a tag") {
            text throws(Mismatch) in
            let prefix = SenderStamps.Label.tagPrefix
            let name = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.utf8.count)) : text
            // A field of this name is withheld with its tag's prefix, too, and SLS takes 128 bytes.
            guard !name.isEmpty, prefix.utf8.count + name.utf8.count <= 128 else {
                throw Mismatch(
                    "a stamp's name has 1 to \(128 - prefix.utf8.count) bytes besides __tag__:"
                )
            }
            guard !Destination.Labels.reserved.contains(name), name != "__truncated__" else {
                throw Mismatch(
                    "\(quoted(name)) is reserved by SLS or by the gateway; choose another"
                )
            }
            return text
        }
    }
}
