/// Facts about a sender that the gateway verified, and the fields or tags that logs get them as.
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

extension SenderStamps: SettingGroup {
    static var settings: [Setting<SenderStamps>] {
        Fact.allCases.map { fact in
            Setting(fact.rawValue, \.[fact], Label.kind) { fact.help }
        }
    }

    func check(_ section: borrowing Section) {
        for (index, label) in labels.enumerated() {
            guard let other = labels[..<index].first(where: { $0.name == label.name }) else {
                continue
            }
            section.problem(
                label.fact.rawValue,
                "\(quoted(label.name)) is what \(other.fact.rawValue) is called; give each a name of its own"
            )
        }
    }

    /// The label of a fact, as the configuration has it.
    private subscript(fact: Fact) -> String? {
        get { labels.first { $0.fact == fact }?.written }
        set {
            labels.removeAll { $0.fact == fact }
            if let newValue { labels.append(Label(fact, newValue)) }
        }
    }
}

extension SenderStamps.Fact {
    fileprivate var help: String {
        switch self {
        case .clientIP:
            """
            the client's address, through trusted proxies. A stamp is a fact about the sender that the \
            gateway verified; its value here is the name of a field, or of a `__tag__:` tag: \
            `{ client_ip: __client_ip__, key: device_key }`. Devices cannot set these themselves, see \
            [devices](devices.md#stamps)
            """
        case .key: "the name of the key in `devices.keys`, or `jwt:KID`"
        case .subject: "`sub` of the token"
        case .certificate: "the first name in the client's certificate, with its kind"
        case .receipt: "the answer's `x-log-requestid`"
        }
    }
}

extension SenderStamps.Label {
    fileprivate init(_ fact: SenderStamps.Fact, _ written: String) {
        self.fact = fact
        isTag = written.hasPrefix(Self.tagPrefix)
        name = isTag ? String(written.dropFirst(Self.tagPrefix.utf8.count)) : written
    }

    /// The name of a field, or `__tag__:` and that of a tag.
    fileprivate static var kind: Kind<String> {
        Kind(
            wants: "the name of a field, or __tag__: and the name of a tag",
            show: { .text($0) }
        ) { text throws(Mismatch) in
            let prefix = tagPrefix
            let name = text.hasPrefix(prefix) ? String(text.dropFirst(prefix.utf8.count)) : text
            // A field of this name is withheld with its tag's prefix, too, and SLS takes 128 bytes.
            try expect(!name.isEmpty && prefix.utf8.count + name.utf8.count <= 128) {
                "a stamp's name has 1 to \(128 - prefix.utf8.count) bytes besides __tag__:"
            }
            try expect(!isReservedName(name) && name != "__truncated__") {
                "\(quoted(name)) is reserved by SLS or by the gateway; choose another"
            }
            return text
        }
    }
}
