/// The service that a resolver's look-alike speaks for.
enum ResolverService: String, Sendable, CaseIterable {
    case alibaba, tencent, doh
}

/// The operation of a resolver that a path names.
enum ResolverCall: Equatable, Sendable {
    /// One host, or up to five in a batch.
    case alibabaV1(account: String, isBatch: Bool, isSigned: Bool)
    case alibabaV2
    case alibabaServers(account: String)
    case tencent
    case tencentServers
    /// RFC 8484.
    case dnsMessage
    /// Alibaba's public DNS in JSON.
    case dnsJSON

    /// nil for paths that no resolver has.
    init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        switch (parts.count, parts.last) {
        case (2, "d"): self = .tencent
        case (2, "conf"): self = .tencentServers
        case (2, "dns-query"): self = .dnsMessage
        case (2, "resolve"): self = .dnsJSON
        case (3, "d") where parts[1] == "v2": self = .alibabaV2
        case (3, "d"): self = .alibabaV1(account: parts[1], isBatch: false, isSigned: false)
        case (3, "sign_d"): self = .alibabaV1(account: parts[1], isBatch: false, isSigned: true)
        case (3, "resolve"): self = .alibabaV1(account: parts[1], isBatch: true, isSigned: false)
        case (3, "sign_resolve"):
            self = .alibabaV1(account: parts[1], isBatch: true, isSigned: true)
        case (3, "ss"): self = .alibabaServers(account: parts[1])
        default: return nil
        }
    }

    var service: ResolverService {
        switch self {
        case .alibabaV1, .alibabaV2, .alibabaServers: .alibaba
        case .tencent, .tencentServers: .tencent
        case .dnsMessage, .dnsJSON: .doh
        }
    }
}
