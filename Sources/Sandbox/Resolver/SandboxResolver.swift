package import Crypto
package import Net
import System

/// Answers one request to a look-alike of a resolver. It shares only ciphers, digests and encodings
/// with the gateway's side, so that a mistake in one shows in the other.
struct SandboxResolver {
    /// The client's address in answers, unless the query asks for another client's.
    static let client = "127.0.0.1"

    let accounts: ResolverAccounts
    let zone: ResolverZone
    let now: WallTime
    let request: ReceivedRequest

    func answer(_ call: ResolverCall) throws(SLSRefusal) -> AnswerContent {
        switch call {
        case .alibabaV1(let account, let isBatch, let isSigned):
            try alibabaV1(account, isBatch: isBatch, isSigned: isSigned)
        case .alibabaV2: try alibabaV2()
        case .alibabaServers(let account): try alibabaServers(account)
        case .tencent: try tencent()
        case .tencentServers: try tencentServers()
        case .dnsMessage: try dnsMessage()
        case .dnsJSON: try dnsJSON()
        }
    }

    func demand(_ methods: String...) throws(SLSRefusal) {
        guard methods.contains(request.method) else {
            throw .badMethod("MethodNotAllowed", "only \(methods.joined(separator: ", "))")
        }
    }

    func demanded(_ name: String) throws(SLSRefusal) -> String {
        guard let value = request.parameter(name), !value.isEmpty else {
            throw .badRequest("MissingArgument", "\(name) is missing")
        }
        return value
    }

    func seconds(_ name: String) throws(SLSRefusal) -> Int64 {
        let text = try demanded(name)
        guard text.utf8.count <= 10, let seconds = Int64(text), seconds >= 0 else {
            throw .forbidden("InvalidDuration", "\(name) is \(text), not unix seconds")
        }
        return seconds
    }
}

/// The service that a resolver's look-alike speaks for.
enum ResolverService: String, Sendable, CaseIterable {
    case alibaba, tencent, doh
}

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

/// What the look-alikes of resolvers know about hosts.
struct ResolverZone: Sendable {
    struct Record: Sendable, Equatable {
        var v4: [IPAddress] = []
        var v6: [IPAddress] = []
        var seconds = 60

        init(_ addresses: [IPAddress], seconds: Int = 60) {
            v4 = addresses.filter(\.isV4)
            v6 = addresses.filter { !$0.isV4 }
            self.seconds = seconds
        }
    }

    static let namesMax = 1000

    private(set) var records: [String: Record] = [:]
    private let usual: Record
    /// The answer to every question while a fault says so.
    var replacement: [IPAddress]?

    init(usual address: IPAddress) {
        usual = Record([address])
    }

    /// Without addresses the host does not exist.
    subscript(_ host: String) -> Record {
        let known = records[Self.canonical(host)] ?? usual
        return replacement.map { Record($0, seconds: known.seconds) } ?? known
    }

    mutating func set(_ host: String, _ record: Record) -> Bool {
        let host = Self.canonical(host)
        guard records[host] != nil || records.count < Self.namesMax else { return false }
        records[host] = record
        return true
    }

    mutating func removeAll() -> Int {
        defer { records = [:] }
        return records.count
    }

    static func canonical(_ host: String) -> String {
        let lower = host.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }

    /// Letters, digits, hyphens and underscores in labels of up to 63 bytes.
    static func isHost(_ text: String) -> Bool {
        let labels = canonical(text).utf8.split(
            separator: UInt8(ascii: "."),
            omittingEmptySubsequences: false
        )
        return text.utf8.count <= 254
            && labels.allSatisfy { label in
                (1...63).contains(label.count)
                    && label.allSatisfy { byte in
                        switch byte {
                        case UInt8(ascii: "a")...UInt8(ascii: "z"),
                            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                            UInt8(ascii: "_"):
                            true
                        default: false
                        }
                    }
            }
    }
}

/// The accounts of the resolvers' look-alikes, and the address of every host.
package struct ResolverAccounts: Sendable {
    /// The id of the account of Alibaba's HTTPDNS.
    package var alibaba = "100000"
    /// 32 hexadecimal digits each: they sign and hide queries.
    package var secret: Secret
    package var aesKey: Secret
    /// The id of the account of Tencent's HTTPDNS.
    package var tencent = "1"
    /// 16 characters; DES uses the first eight.
    package var tencentKey: Secret
    package var token: Secret
    /// Hosts that `/names` does not mention have this address.
    package var address = IPAddress(v4: 0x7f00_0001)

    /// Makes keys that open nothing else.
    package init() {
        secret = Secret(hex(randomBytes(16)))
        aesKey = Secret(hex(randomBytes(16)))
        tencentKey = Secret(hex(randomBytes(8)))
        token = Secret(hex(randomBytes(8)))
    }

    package init(secret: Secret, aesKey: Secret, tencentKey: Secret, token: Secret) {
        self.secret = secret
        self.aesKey = aesKey
        self.tencentKey = tencentKey
        self.token = token
    }
}
