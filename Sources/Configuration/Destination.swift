package import Logs
package import Queue
package import SLS

/// A place to deliver to, as the configuration describes it: the group `destinations.NAME`.
package struct Destination: Sendable, Equatable {
    package enum Logstore: Sendable, Equatable {
        case named(String)
        /// Whatever logstore the request's path names.
        case any

        /// "*" for every logstore.
        package var name: String {
            switch self {
            case .named(let name): name
            case .any: "*"
            }
        }
    }

    /// The logstore of other kinds than sls, which have one in the queue.
    private static let onlyLogstore = "logs"

    package var name: String
    package var kind = DestinationKind.sls
    /// At least one; the first that answers is used, the earlier the better.
    package var endpoints: [Endpoint] = []
    /// Of kind sls; empty for the others, as its endpoints.
    package var project = ""
    package var logstore = Logstore.any
    /// The credential's name; counts only for kind sls.
    package var credential = "default"
    package var signature = SignatureVersion.v4
    /// Absent where no endpoint shows it and signature v1 needs none.
    package var region: String?
    package var labels = Labels()
    package var intake = Intake()
    /// What may wait in the queue. `queueRules` completes it.
    package var backlog = DestinationRules()
    package var transfer = Transfer()
    package var shape = LogJSON.Shape.flat
    package var http = HTTPTarget()
    /// Of kind file; its path is empty for the others.
    package var file = FileTarget()
    /// False: a request is taken also when this destination has no room for its logs.
    package var isRequired = true
    /// A reload no longer has it: it takes no logs, and closes when its last ones are delivered.
    package var isRemoved = false

    package init(name: String, kind: DestinationKind = .sls) {
        self.name = name
        self.kind = kind
    }

    /// What batches get that bring none, and what every batch gets.
    package struct Labels: Sendable, Equatable {
        package struct Tag: Sendable, Equatable {
            package let key: String
            package let value: String
        }

        /// The place of the client's address in `source`.
        package static let clientIP = "{{client_ip}}"

        package var topic = ""
        /// Of logs whose device names none.
        package var source = ""
        package var tags: [Tag] = []
    }

    /// What happens to logs on their way in: what SLS would refuse, and what keeps devices apart.
    package struct Intake: Sendable, Equatable {
        package enum LateLogs: String, Sendable, CaseIterable {
            /// They keep their time. SLS would refuse their packet.
            case keep
            case rewrite, drop
            case deadLetter = "dead_letter"
        }

        package enum Oversize: String, Sendable, CaseIterable {
            /// The value stays whole. SLS would refuse the packet.
            case keep
            /// The value is cut, and the log says so.
            case truncate
            case deadLetter = "dead_letter"
        }

        /// Tags that become fields, so that devices which differ in them share packets.
        package enum FoldTags: Sendable, Equatable {
            case none
            case named([String])
            case all
        }

        /// Until it is read, and its kind is known, these are SLS's.
        package var lateLogs = LateLogs.rewrite
        /// Logs older than this are late. SLS takes an hour more, for which a log may wait here.
        package var logDelayMax: Duration = .seconds(7 * 86_400 - 3600)
        package var oversize = Oversize.truncate
        package var foldTags = FoldTags.none
        /// A device's `__pack_id__` stays, at the price of packets of its own.
        package var keepsPackID = false
        /// What logs tell of their sender.
        package var stamps = SenderStamps()
    }

    /// Defaults for several settings.
    package enum Preset: String, Sendable, CaseIterable {
        case none
        /// What Puree's outputs do: few logs a request, and few tries.
        case puree
    }

    /// How packets may be compressed; each kind takes some of these.
    package enum BodyCompression: String, Sendable, CaseIterable {
        case lz4, zstd, deflate, gzip, none
    }

    /// How packets are made and sent.
    package struct Transfer: Sendable, Equatable {
        /// Absent, it is the kind's own.
        package var compression: BodyCompression?
        package var retry = Backoff.retry
        package var preset = Preset.none
        package var packet = PacketLimits()
        /// Requests in flight to one logstore. Absent, they grow with the distance.
        package var concurrency: Int?
        package var isExactlyOnce = false
        /// Absent, there are twice as many as `usualConcurrency`.
        package var lanesGiven: Int?
        package var dropsUnauthorized = false
        package var transport = TransportSettings()
        /// SLS's clock minus this machine's, until SLS has told its own.
        package var clockOffset: Duration = .zero

        /// Requests in flight to one logstore, if answers come soon.
        package var usualConcurrency: Int { concurrency ?? 8 }
        /// The same, if they take long: 2.3 million logs/s that are answered after 100 ms need 60.
        package var concurrencyMax: Int { concurrency ?? 128 }
        /// To all logstores together.
        package var inFlightMax: Int { 2 * concurrencyMax }

        /// 0 delivers at least once. A lane carries one packet at a time; twice as many as requests
        /// keep those busy while acknowledged packets wait for their commit.
        package var lanes: Int { isExactlyOnce ? lanesGiven ?? usualConcurrency * 2 : 0 }
    }
}

extension Destination {
    /// The name of the credential that it delivers with; nil for a kind that needs none.
    package var credentialInUse: String? { kind == .sls ? credential : nil }

    /// Where all its logs are in the queue; nil for kind sls, whose logstores are SLS's own.
    package var onlyLogstore: String? { kind == .sls ? nil : Self.onlyLogstore }

    /// The compression of its packets.
    package var bodyCompression: BodyCompression {
        transfer.compression ?? (kind == .sls ? .lz4 : .gzip)
    }

    /// Where it delivers to, in words that hold no secret.
    package var place: String {
        switch kind {
        case .sls:
            "\(project)/\(logstore.name) at "
                + endpoints.map(\.description).joined(separator: ", else ")
        case .http: http.address?.description ?? ""
        case .file: file.path
        case .stdout: "the standard output"
        }
    }
}

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
