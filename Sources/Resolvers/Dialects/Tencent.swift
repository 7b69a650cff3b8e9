package import Crypto
package import Net
package import System

package struct TencentAccount: Sendable, Equatable {
    /// What proves the account, and hides the names.
    package enum Access: Sendable, Equatable {
        case des(id: String, key: Secret)
        case aes(id: String, key: Secret)
        /// Over https, in plain text.
        case token(Secret)
    }

    package var access: Access
    package var servers: [ResolverServer] = []
    /// Asks for the answer that a client at this address would get.
    package var clientAddress: IPAddress?

    package init(_ access: Access) {
        self.access = access
    }
}

/// Tencent's HTTPDNS: a text of its own in both directions, encrypted as a whole.
package struct Tencent: ResolverDialect {
    private let account: TencentAccount
    private let random: @Sendable (_ count: Int) -> [UInt8]

    package init(_ account: TencentAccount) {
        self.init(account) { randomBytes($0) }
    }

    /// `random` makes initial vectors.
    init(_ account: TencentAccount, random: @escaping @Sendable (Int) -> [UInt8]) {
        self.account = account
        self.random = random
    }

    package var namesMax: Int { 8 }

    package var servers: [ResolverServer] {
        guard account.servers.isEmpty else { return account.servers }
        // The certificate is for the address.
        if case .token = account.access {
            return [ResolverServer(isEncrypted: true, name: "119.29.29.99")]
        }
        return [ResolverServer(isEncrypted: false, name: "119.29.29.98")]
    }

    package func queries(for names: [String], at time: WallTime) -> [ServerRequest] {
        let text = names.joined(separator: ",")
        var query = [("dn", concealed(text)), ("clientip", "1"), ("ttl", "1"), ("query", "1")]
        query += [("type", "addrs")] + identity
        if let address = account.clientAddress { query.append(("ip", concealed("\(address)"))) }
        return [ServerRequest("/d?\(AlibabaAccount.encoded(query))", accept: "text/plain")]
    }

    private var identity: [(String, String)] {
        switch account.access {
        case .des(let id, _): [("id", id), ("alg", "des")]
        case .aes(let id, _): [("id", id), ("alg", "aes")]
        case .token(let token): [("token", token.revealed)]
        }
    }

    /// The text as it travels.
    func concealed(_ text: String) -> String {
        let plain = Array(text.utf8)
        switch account.access {
        case .des(_, let key):
            return Self.withKey(key, BlockCipher.des) {
                hex(BlockCipher.des.encrypt(plain, key: $0))
            }
        case .aes(_, let key):
            let vector = random(BlockCipher.aesBlockBytes)
            let cipher = BlockCipher.aes128CBC(initialVector: vector)
            return Self.withKey(key, cipher) { hex(vector + cipher.encrypt(plain, key: $0)) }
        case .token: return text
        }
    }

    /// The text of an answer; nil if it was not made with the account's key.
    func revealed(_ body: [UInt8]) -> String? {
        let text = body.filter { $0 > 0x20 }
        switch account.access {
        case .des(_, let key):
            guard let bytes = hexDecoded(text[...]) else { return nil }
            let plain = Self.withKey(key, .des) { BlockCipher.des.decrypt(bytes, key: $0) }
            return plain.flatMap { String(validating: $0, as: UTF8.self) }
        case .aes(_, let key):
            let count = BlockCipher.aesBlockBytes
            guard let bytes = hexDecoded(text[...]), bytes.count > count else { return nil }
            let cipher = BlockCipher.aes128CBC(initialVector: Array(bytes.prefix(count)))
            let plain = Self.withKey(key, cipher) {
                cipher.decrypt(Array(bytes.dropFirst(count)), key: $0)
            }
            return plain.flatMap { String(validating: $0, as: UTF8.self) }
        case .token: return String(validating: body, as: UTF8.self)
        }
    }

    /// Filled up as the SDKs do: with zero bytes for DES, with the digit 0 for AES.
    private static func withKey<Result>(
        _ secret: Secret,
        _ cipher: BlockCipher,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        var key = secret.withBytes { Array($0.prefix(cipher.keyBytes)) }
        let fill: UInt8 = if case .des = cipher { 0 } else { UInt8(ascii: "0") }
        key += repeatElement(fill, count: cipher.keyBytes - key.count)
        defer { wipe(&key) }
        return key.withUnsafeBytes(body)
    }

    // MARK: - Answers

    package func answers(
        in answer: ServerAnswer,
        to names: [String]
    ) throws(QueryFailure) -> [String: HostAnswer] {
        try TencentAnswer.read(text(of: answer), names: names)
    }

    private func text(of answer: ServerAnswer) throws(QueryFailure) -> String {
        switch answer.status {
        case 200: break
        case 401:
            throw QueryFailure(.account, "401", remedy: "check the resolver's id, key and token")
        case 429:
            throw QueryFailure(.quota, "429", remedy: "buy more queries, or raise names.ttl_min")
        default: throw .unreadable("HTTP status \(answer.status)")
        }
        guard !answer.body.isEmpty else {
            throw QueryFailure(
                .query,
                "the answer is empty",
                remedy: "check the resolver's id, and that the host is among its domains"
            )
        }
        guard let text = revealed(answer.body) else {
            throw .undecryptable(checking: "key and algorithm")
        }
        return text
    }

    // MARK: - Servers

    package func listQuery(at time: WallTime) -> ServerRequest? {
        ServerRequest("/conf?\(AlibabaAccount.encoded(identity))", accept: "text/plain")
    }

    package func list(in answer: ServerAnswer) throws(QueryFailure) -> [ResolverServer] {
        let addresses = try TencentAnswer.servers(text(of: answer))
        return addresses.map { servers[0].moved(to: $0) }
    }
}

/// The plain text of Tencent's answers: a line a name,
/// `NAME.:ADDRESS;ADDRESS,TTL-ADDRESS,TTL|CLIENT`. The part behind the hyphen is IPv6's; 0 stands
/// for no address.
enum TencentAnswer {
    static func read(
        _ text: String,
        names: [String]
    ) throws(QueryFailure) -> [String: HostAnswer] {
        var found: [String: HostAnswer] = [:]
        for line in text.split(whereSeparator: \.isNewline).prefix(names.count) {
            // An address of the client may follow each line.
            let content = line.prefix { $0 != "|" }
            var (name, rest) = (names[0], content)
            if let end = content.firstRange(of: ".:") {
                name = HostName.canonical(String(content[..<end.lowerBound]))
                rest = content[end.upperBound...]
            } else if names.count > 1 {
                throw .unreadable("a line of the answer has no name")
            }
            guard names.contains(name) else { continue }
            found[name] = try host(rest)
        }
        return found
    }

    private static func host(_ text: Substring) throws(QueryFailure) -> HostAnswer {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try family(parts[0])
        guard parts.count == 2 else {
            let isV6 = first.addresses.first.map { !$0.isV4 } ?? false
            let only = try first.checked(isV4: !isV6)
            return isV6 ? HostAnswer(v6: only) : HostAnswer(v4: only)
        }
        let second = try family(parts[1])
        return HostAnswer(
            v4: try first.checked(isV4: true),
            v6: try second.checked(isV4: false)
        )
    }

    private static func family(_ text: Substring) throws(QueryFailure) -> FamilyAnswer {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count) else { throw .unreadable("the answer has odd commas") }
        var seconds = 60
        if parts.count == 2 {
            guard let told = Int(parts[1]) else { throw .unreadable("a TTL is not a number") }
            seconds = told
        }
        guard parts[0] != "0" else { return FamilyAnswer([], seconds: seconds) }
        var addresses: [IPAddress] = []
        for part in parts[0].split(separator: ";") {
            guard let address = IPAddress(String(part)) else {
                throw .unreadable("something in the answer is not an address")
            }
            addresses.append(address)
        }
        guard !addresses.isEmpty else { throw .unreadable("the answer has no addresses") }
        return FamilyAnswer(addresses, seconds: seconds)
    }

    /// `log:0|domain:0|ip:A;B;|ttl:60`. Only IPv4 addresses count.
    static func servers(_ text: String) throws(QueryFailure) -> [IPAddress] {
        let part = text.split(separator: "|").first { $0.hasPrefix("ip:") }
        let addresses = (part?.dropFirst(3).split(separator: ";") ?? [])
            .compactMap { IPAddress(String($0)) }.filter(\.isV4)
        guard !addresses.isEmpty else { throw .unreadable("the list of servers is empty") }
        return Array(addresses.prefix(HostAnswer.addressesMax))
    }
}
