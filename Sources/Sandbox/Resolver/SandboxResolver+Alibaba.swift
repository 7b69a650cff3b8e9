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
            throw .forbidden(
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
            throw .badRequest("TooManyHosts", "\(hosts.count) hosts")
        }
        try checkHosts(hosts)
        let families = try Families(request.parameter("query") ?? "4")
        let client = request.parameter("ip") ?? Self.client
        return .json { json in
            guard isBatch else { return single(hosts[0], families, client, into: &json) }
            json.array("dns") { json in
                for host in hosts { batched(host, families, client, into: &json) }
            }
        }
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
        else { throw .badRequest("MissingArgument", "n has 8 to 16 hexadecimal digits") }
        try checkMD5(of: nonce, time)
        guard abs(now.seconds - time) < Self.listSkewMax else {
            throw .forbidden("SignatureExpired", "t is \(time), here it is \(now.seconds)")
        }
        return .json { json in
            json.addresses("service_ip", accounts.address.isV4 ? [accounts.address] : [])
            json.addresses("service_ipv6", accounts.address.isV4 ? [] : [accounts.address])
        }
    }

    // MARK: - Checks

    func checkAccount(_ account: String) throws(SLSRefusal) {
        guard account == accounts.alibaba else {
            throw .forbidden("InvalidAccount", "the sandbox's account is \(accounts.alibaba)")
        }
    }

    func checkHosts(_ hosts: [String]) throws(SLSRefusal) {
        for host in hosts where !ResolverZone.isHost(host) {
            throw .badRequest("InvalidHost", "\(host.prefix(100)) is not a host")
        }
    }

    func checkExpiry(_ expiry: Int64) throws(SLSRefusal) {
        guard expiry > now.seconds else {
            throw .forbidden("SignatureExpired", "it ended at \(expiry), now is \(now.seconds)")
        }
        guard expiry <= now.seconds + Self.expiryMax else {
            throw .forbidden("InvalidDuration", "\(expiry) is more than a day ahead")
        }
    }

    /// The MD5 of text, secret and time.
    private func checkMD5(of text: String, _ time: Int64) throws(SLSRefusal) {
        let signed = "\(text)-\(accounts.secret.revealed)-\(time)"
        let right = hex(Digest.md5(Array(signed.utf8)))
        guard Digest.areEqual(Array(right.utf8), Array(try demanded("s").utf8)) else {
            throw .forbidden("InvalidSignature", "s does not fit text, secret and time")
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
            throw .badRequest("MissingArgument", "\(text.prefix(20)) is not 4, 6 or 4,6")
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

/// Alibaba's HTTPDNS, version 2.
extension SandboxResolver {
    private static let notSigned: Set<String> = ["s", "sid", "net", "sdk"]
    /// All that an encrypted query may sign.
    private static let openNames: Set<String> = ["enc", "exp", "id", "m", "v"]

    /// How texts are hidden.
    private enum Mode: Int {
        case plain, cbc, gcm
    }

    /// What a query asks, encrypted or not.
    private struct Question {
        let hosts: [String]
        let families: Families
        let client: String?
    }

    func alibabaV2() throws(SLSRefusal) -> AnswerContent {
        try demand("GET")
        try checkAccount(try demanded("id"))
        let signed = request.query.filter {
            !Self.notSigned.contains($0.key) && !$0.value.isEmpty
        }
        try checkSignature(over: signed)
        try checkExpiry(try seconds("exp"))
        guard let mode = Int(try demanded("m")).flatMap(Mode.init) else {
            throw .badRequest("MissingArgument", "m is 0, 1 or 2")
        }
        if mode != .plain, let name = signed.first(where: { !Self.openNames.contains($0.key) }) {
            throw .badRequest("InvalidSignature", "\(name.key) belongs into enc")
        }
        let question = try question(mode)
        guard question.hosts.count <= 5 else {
            throw .badRequest("TooManyHosts", "\(question.hosts.count) hosts")
        }
        try checkHosts(question.hosts)
        return AnswerContent(body: sealed(question, mode))
    }

    private func checkSignature(over signed: [QueryPair]) throws(SLSRefusal) {
        let text = signed.sorted { Array($0.key.utf8).lexicographicallyPrecedes($1.key.utf8) }
            .map { "\($0.key)=\($0.value)" }.joined(separator: "&")
        let key = accounts.secret.withBytes { hexDecoded(Array($0)[...]) } ?? []
        let right = hex(Digest.hmacSHA256(key: key, text))
        guard Digest.areEqual(Array(right.utf8), Array(try demanded("s").utf8)) else {
            throw .forbidden("InvalidSignature", "s does not fit these parameters: \(text)")
        }
    }

    private func question(_ mode: Mode) throws(SLSRefusal) -> Question {
        guard mode != .plain else {
            return try question { request.parameter($0) }
        }
        guard let text = hexDecoded(Array(try demanded("enc").utf8)[...]),
            let plain = opened(text, mode),
            let json = try? JSONValue(parsing: plain), case .object = json
        else { throw .badRequest("MissingArgument", "enc is not JSON under the aes_key") }
        return try question { json[$0]?.text }
    }

    private func question(_ value: (String) -> String?) throws(SLSRefusal) -> Question {
        guard let hosts = value("dn"), !hosts.isEmpty else {
            throw .badRequest("MissingArgument", "dn is missing")
        }
        return Question(
            hosts: hosts.split(separator: ",", omittingEmptySubsequences: false).map(String.init),
            families: try Families(value("q") ?? "4"),
            client: value("cip")
        )
    }

    private var aesKey: [UInt8] {
        accounts.aesKey.withBytes { hexDecoded(Array($0)[...]) } ?? []
    }

    private func opened(_ text: [UInt8], _ mode: Mode) -> [UInt8]? {
        let count = mode == .gcm ? AESGCM.nonceBytes : BlockCipher.aesBlockBytes
        guard text.count > count else { return nil }
        let (vector, rest) = (Array(text[..<count]), text[count...])
        return aesKey.withUnsafeBytes { key in
            mode == .gcm
                ? AESGCM.open(rest, key: key, nonce: vector, associated: [])
                : BlockCipher.aes128CBC(initialVector: vector).decrypt(Array(rest), key: key)
        }
    }

    private func sealed(_ question: Question, _ mode: Mode) -> [UInt8] {
        JSONWriter { json in
            json.member("code", "success")
            json.member("mode", mode.rawValue)
            guard mode == .plain else {
                let inner = JSONWriter { write(question, into: &$0) }
                return json.member("data", Digest.base64(hidden(inner.bytes, mode)))
            }
            json.object("data") { write(question, into: &$0) }
        }.bytes
    }

    private func hidden(_ plain: [UInt8], _ mode: Mode) -> [UInt8] {
        aesKey.withUnsafeBytes { key in
            if mode == .gcm {
                let nonce = randomBytes(AESGCM.nonceBytes)
                return nonce + AESGCM.seal(plain, key: key, nonce: nonce, associated: [])
            }
            let vector = randomBytes(BlockCipher.aesBlockBytes)
            return vector + BlockCipher.aes128CBC(initialVector: vector).encrypt(plain, key: key)
        }
    }

    private func write(_ question: Question, into json: inout JSONWriter) {
        json.member("cip", question.client ?? Self.client)
        json.array("answers") { json in
            for host in question.hosts {
                let record = zone[host]
                json.object { json in
                    json.member("dn", host)
                    if question.families.hasV4 { json.family("v4", record.v4, record.seconds) }
                    if question.families.hasV6 { json.family("v6", record.v6, record.seconds) }
                }
            }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func family(_ name: String, _ addresses: [IPAddress], _ seconds: Int) {
        object(name) { json in
            json.addresses("ips", addresses)
            json.member("ttl", seconds)
            if addresses.isEmpty { json.member("no_ip_code", "RRNotExist") }
        }
    }
}
