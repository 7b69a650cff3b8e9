import Crypto
import JSON
import Net
import System

/// Alibaba's HTTPDNS, version 1, and the list of its servers.
extension SandboxResolver {
    private static let batchMax = 5
    private static let expiryMax: Int64 = 24 * 3600
    private static let listSkewMax: Int64 = 150

    func alibabaV1(
        _ account: String,
        isBatch: Bool,
        isSigned: Bool
    ) throws(SLSRefusal) -> AnswerContent {
        try demand("GET")
        try checkAccount(account)
        guard isSigned else {
            throw SLSRefusal(
                403,
                "UnsignedInterfaceDisabled",
                "this account wants signed queries: set the resolver's secret"
            )
        }
        let host = try demanded("host")
        let expiry = try seconds("t")
        try checkMD5(of: host, expiry)
        try checkExpiry(expiry)
        let hosts = host.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard hosts.count <= (isBatch ? Self.batchMax : 1) else {
            throw SLSRefusal(400, "TooManyHosts", "\(hosts.count) hosts")
        }
        try checkHosts(hosts)
        let families = try Families(request.parameter("query") ?? "4")
        let client = request.parameter("ip") ?? Self.client
        var json = JSONWriter()
        json.object { json in
            guard isBatch else {
                return single(hosts[0], families, client, into: &json)
            }
            json.array("dns") { json in
                for host in hosts { batched(host, families, client, into: &json) }
            }
        }
        return AnswerContent(body: json.bytes)
    }

    private func single(
        _ host: String,
        _ families: Families,
        _ client: String,
        into json: inout JSONWriter
    ) {
        let record = zone[host]
        json.member("host", host)
        if families.hasV4 { json.addresses("ips", record.v4) }
        if families.hasV6 { json.addresses("ipsv6", record.v6) }
        json.times(record)
        json.member("client_ip", client)
    }

    /// A batch has a member for each family, both with `ips`.
    private func batched(
        _ host: String,
        _ families: Families,
        _ client: String,
        into json: inout JSONWriter
    ) {
        let record = zone[host]
        let wanted = [(families.hasV4, 1, record.v4), (families.hasV6, 28, record.v6)]
        for (isWanted, type, addresses) in wanted where isWanted {
            json.object { json in
                json.member("host", host)
                json.addresses("ips", addresses)
                json.member("type", type)
                json.times(record)
                json.member("client_ip", client)
            }
        }
    }

    func alibabaServers(_ account: String) throws(SLSRefusal) -> AnswerContent {
        try demand("GET")
        try checkAccount(account)
        let (nonce, time) = (try demanded("n"), try seconds("t"))
        guard (8...16).contains(nonce.utf8.count), nonce.utf8.allSatisfy({ hexValue($0) != nil })
        else { throw SLSRefusal(400, "MissingArgument", "n has 8 to 16 hexadecimal digits") }
        try checkMD5(of: nonce, time)
        guard abs(now.seconds - time) < Self.listSkewMax else {
            throw SLSRefusal(403, "SignatureExpired", "t is \(time), here it is \(now.seconds)")
        }
        var json = JSONWriter()
        json.object { json in
            json.addresses("service_ip", accounts.address.isV4 ? [accounts.address] : [])
            json.addresses("service_ipv6", accounts.address.isV4 ? [] : [accounts.address])
        }
        return AnswerContent(body: json.bytes)
    }

    // MARK: - Checks

    func checkAccount(_ account: String) throws(SLSRefusal) {
        guard account == accounts.alibaba else {
            throw SLSRefusal(403, "InvalidAccount", "the sandbox's account is \(accounts.alibaba)")
        }
    }

    func checkHosts(_ hosts: [String]) throws(SLSRefusal) {
        for host in hosts where !ResolverZone.isHost(host) {
            throw SLSRefusal(400, "InvalidHost", "\(host.prefix(100)) is not a host")
        }
    }

    func checkExpiry(_ expiry: Int64) throws(SLSRefusal) {
        guard expiry > now.seconds else {
            throw SLSRefusal(
                403,
                "SignatureExpired",
                "it ended at \(expiry), now is \(now.seconds)"
            )
        }
        guard expiry <= now.seconds + Self.expiryMax else {
            throw SLSRefusal(403, "InvalidDuration", "\(expiry) is more than a day ahead")
        }
    }

    /// The MD5 of text, secret and time.
    private func checkMD5(of text: String, _ time: Int64) throws(SLSRefusal) {
        let signed = "\(text)-\(accounts.secret.revealed)-\(time)"
        let right = hex(Digest.md5(Array(signed.utf8)))
        guard Digest.areEqual(Array(right.utf8), Array(try demanded("s").utf8)) else {
            throw SLSRefusal(403, "InvalidSignature", "s does not fit text, secret and time")
        }
    }
}

/// The kinds of addresses that a query wants: `4`, `6` or both.
struct Families: Equatable {
    let hasV4: Bool
    let hasV6: Bool

    init(_ text: String) throws(SLSRefusal) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.allSatisfy({ $0 == "4" || $0 == "6" }) else {
            throw SLSRefusal(400, "MissingArgument", "\(text.prefix(20)) is not 4, 6 or 4,6")
        }
        hasV4 = parts.contains("4")
        hasV6 = parts.contains("6")
    }
}

extension JSONWriter {
    mutating func addresses(_ name: String, _ addresses: [IPAddress]) {
        array(name) { json in addresses.forEach { json.element("\($0)") } }
    }

    fileprivate mutating func times(_ record: ResolverZone.Record) {
        member("ttl", record.seconds)
        member("origin_ttl", record.seconds)
    }
}
