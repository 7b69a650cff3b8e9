/// What a destination is.
package enum DestinationKind: String, Sendable, CaseIterable {
    case sls
    case http
    case file
    case stdout

    /// The keys that not every kind has, with the kinds that have them.
    private static let ownKeys: KeyValuePairs<[DestinationKind], [String]> = [
        [.sls]: [
            "endpoint", "project", "logstore", "max_logstores", "region", "credential",
            "signature", "exactly_once", "lanes", "drop_unauthorized", "clock_offset",
        ],
        [.sls, .http]: [
            "compress", "proxy", "resolve", "ca_file", "connect_timeout", "send_timeout",
            "stall_timeout",
        ],
        [.http]: ["url", "headers", "body", "success", "cert_file", "key_file"],
        [.http, .file, .stdout]: ["shape"],
        [.file]: ["path", "rotate"],
    ]

    private static let kindsByKey: [String: [DestinationKind]] = Dictionary(
        uniqueKeysWithValues: ownKeys.flatMap { row in row.value.map { ($0, row.key) } }
    )

    /// The kinds that have a setting of this name, if not all of them have it.
    static func kinds(with key: String) -> [DestinationKind]? { kindsByKey[key] }

    func has(_ key: String) -> Bool { Self.kinds(with: key)?.contains(self) ?? true }
}

extension Section {
    /// Reports every key that belongs to other kinds of destinations.
    mutating func refuseKeys(of kind: DestinationKind) {
        for key in names where !kind.has(key) {
            let kinds = DestinationKind.kinds(with: key) ?? []
            let list = kinds.map(\.rawValue).joined(separator: " and ")
            problem(key, "is for kind \(list); this destination is of kind \(kind.rawValue)")
            know(key)
        }
    }
}
