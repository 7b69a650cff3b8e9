package import Net

/// How names become addresses: the resolvers, and what is kept of their answers.
package struct NameSettings: Sendable, Equatable {
    /// By name. `system` is always there and not among them.
    package var resolvers: [String: ResolverSettings] = [:]
    /// Answers hold at least and at most for so long, whatever their TTL.
    package var ttlMin: Duration = .seconds(10)
    package var ttlMax: Duration = .seconds(3600)
    /// Addresses are used for so long after their time if no resolver answers.
    package var maxStale: Duration = .seconds(86_400)
    /// One try to ask one server.
    package var timeout: Duration = .seconds(3)
    /// If a host has no address, the next resolver is asked after so long without an answer.
    package var patience: Duration = .seconds(1)
    /// Hosts in the cache.
    package var maxHosts = 256

    package init() {}

    /// A host without addresses is asked for again within these bounds, whatever the answer says.
    static let negativeMin: Duration = .seconds(10)
    static let negativeMax: Duration = .seconds(60)
    /// The system's answers tell no TTL.
    static let systemTimeToLive: Duration = .seconds(60)
    package static let system = "system"
    /// An empty list is the system alone.
    package static func orSystem(_ names: [String]) -> [String] { names.isEmpty ? [system] : names }
    /// What a configuration may have.
    package static let resolversMax = 16
    package static let hostsLimit = 1024
}

/// One resolver of the configuration.
package struct ResolverSettings: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        case alibaba(AlibabaAccount)
        case tencent(TencentAccount)
        case doh(DoHSettings)
        case json(DoHSettings, AlibabaJSON.Account?)
        case fixed([String: [IPAddress]])

        package var name: String {
            switch self {
            case .alibaba: "alibaba"
            case .tencent: "tencent"
            case .doh, .json: "doh"
            case .fixed: "static"
            }
        }
    }

    package var kind: Kind
    /// Addresses of this network and machine count.
    package var allowsPrivate = false
    /// False: an answer is used for its own TTL only.
    package var isCached = true
    /// A file of authorities to trust in place of the system's.
    package var authorities: String?

    package init(_ kind: Kind) {
        self.kind = kind
    }

    /// nil if no server is asked.
    var dialect: (any ResolverDialect)? {
        switch kind {
        case .alibaba(let account):
            account.version == .v1 ? AlibabaV1(account) : AlibabaV2(account)
        case .tencent(let account): Tencent(account)
        case .doh(let settings): DoH(settings)
        case .json(let settings, let account): AlibabaJSON(settings, account)
        case .fixed: nil
        }
    }
}
