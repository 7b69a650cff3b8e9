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

struct ResolverCall {
    let service: ResolverService
    let answer: (SandboxResolver) throws(SLSRefusal) -> AnswerContent

    private init(
        _ service: ResolverService,
        _ answer: @escaping (SandboxResolver) throws(SLSRefusal) -> AnswerContent
    ) {
        self.service = service
        self.answer = answer
    }

    /// nil for paths that no resolver has.
    init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        let account = parts.count > 1 ? parts[1] : ""
        switch (parts.count, parts.last) {
        case (2, "d"): self.init(.tencent) { it throws(SLSRefusal) in try it.tencent() }
        case (2, "conf"): self.init(.tencent) { it throws(SLSRefusal) in try it.tencentServers() }
        case (2, "dns-query"): self.init(.doh) { it throws(SLSRefusal) in try it.dnsMessage() }
        case (2, "resolve"): self.init(.doh) { it throws(SLSRefusal) in try it.dnsJSON() }
        case (3, "d") where account == "v2":
            self.init(.alibaba) { it throws(SLSRefusal) in try it.alibabaV2() }
        case (3, "ss"):
            self.init(.alibaba) { it throws(SLSRefusal) in try it.alibabaServers(account) }
        case (3, let call?) where ["d", "sign_d", "resolve", "sign_resolve"].contains(call):
            self.init(.alibaba) { it throws(SLSRefusal) in
                try it.alibabaV1(
                    account,
                    isBatch: call.hasSuffix("resolve"),
                    isSigned: call.hasPrefix("sign_")
                )
            }
        default: return nil
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
                (1...63).contains(label.count) && label.allSatisfy(\.isWordCharacter)
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
