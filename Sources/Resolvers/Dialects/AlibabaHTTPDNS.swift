import Crypto
import JSON
import Net
package import System

/// The second version of Alibaba's HTTPDNS: signed with HMAC-SHA256, and encrypted if the account
/// has a key.
package struct AlibabaV2: ResolverDialect {
    private let account: AlibabaAccount
    private let random: @Sendable (_ count: Int) -> [UInt8]

    package init(_ account: AlibabaAccount) {
        self.init(account) { randomBytes($0) }
    }

    /// `random` makes initial vectors and nonces.
    init(_ account: AlibabaAccount, random: @escaping @Sendable (Int) -> [UInt8]) {
        self.account = account
        self.random = random
    }

    package var namesMax: Int { 5 }
    package var servers: [ResolverServer] { account.bootstrap }

    package func queries(for names: [String], at time: WallTime) -> [ServerRequest] {
        var content = [("dn", names.joined(separator: ",")), ("q", "4,6")]
        if let address = account.clientAddress { content.append(("cip", "\(address)")) }
        content += account.sortedParameters
        return [query(of: content, at: time)]
    }

    /// A query with this content, which is part of the signature or encrypted.
    func query(of content: [(String, String)], at time: WallTime) -> ServerRequest {
        var query = [("id", account.id), ("m", mode), ("v", "1.0")]
        if account.secret != nil {
            query.append(("exp", "\((time + AlibabaAccount.signatureLifetime).seconds)"))
        }
        if let key = account.aesKey {
            query.append(("enc", hex(encrypted(content, key))))
        } else {
            query += content
        }
        if let secret = account.secret {
            query.append(("s", Self.signature(of: query, secret)))
        }
        return ServerRequest("/v2/d?\(AlibabaAccount.encoded(query))")
    }

    private var mode: String {
        guard account.aesKey != nil else { return "0" }
        return account.encryption == .cbc ? "1" : "2"
    }

    /// All parameters sorted by name, as they are before percent encoding.
    private static func signature(of query: [(String, String)], _ secret: Secret) -> String {
        let text = query.sorted { $0.0 < $1.0 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        return secret.withDecodedHex { hex(Digest.hmacSHA256(key: $0, text)) }
    }

    private func encrypted(_ content: [(String, String)], _ key: Secret) -> [UInt8] {
        let members = content.map { "\(jsonQuoted($0.0)):\(jsonQuoted($0.1))" }
        let plain = Array("{\(members.joined(separator: ","))}".utf8)
        return key.withDecodedHex { key in
            switch account.encryption {
            case .cbc:
                let vector = random(BlockCipher.aesBlockBytes)
                return vector
                    + BlockCipher.aes128CBC(initialVector: vector).encrypt(plain, key: key)
            case .gcm:
                let nonce = random(AESGCM.nonceBytes)
                return nonce + AESGCM.seal(plain, key: key, nonce: nonce, associated: [])
            }
        }
    }

    package func answers(
        in answer: ServerAnswer,
        to names: [String]
    ) throws(QueryFailure) -> [String: HostAnswer] {
        let outer = try AlibabaAnswers.object(answer, successCode: "success")
        guard let data = outer["data"] else { throw .unreadable("the answer has no data") }
        let content = try opened(data, mode: outer["mode"])
        guard let elements = content["answers"]?.elements else {
            throw .unreadable("the answer has no answers")
        }
        var found: [String: HostAnswer] = [:]
        for element in elements {
            guard let name = element["dn"]?.text.map(HostName.canonical), names.contains(name)
            else { continue }
            found[name] = HostAnswer(
                v4: try family(element["v4"], isV4: true),
                v6: try family(element["v6"], isV4: false)
            )
        }
        return found
    }

    private func family(_ value: JSONValue?, isV4: Bool) throws(QueryFailure) -> FamilyAnswer? {
        guard let value, value != .null else { return nil }
        let seconds = value["ttl"]?.wholeNumber ?? 0
        return try AlibabaAnswers.family(value["ips"], isV4: isV4, seconds: seconds)
    }

    /// The server chooses the cipher. If `aes_key` is set, plain text is refused: on `http` anyone
    /// could have sent it. An undecryptable answer counts against the server, not the account.
    private func opened(_ data: JSONValue, mode: JSONValue?) throws(QueryFailure) -> JSONValue {
        let number = mode?.wholeNumber ?? mode?.text.flatMap { Int($0) } ?? 0
        guard number != 0 else {
            guard account.aesKey == nil else {
                throw .unreadable("the answer is not encrypted, and aes_key is set")
            }
            return data
        }
        guard let text = data.text, let sealed = base64Decoded(Array(text.utf8)[...], .standard)
        else { throw .unreadable("the data of the answer is not base64") }
        guard let key = account.aesKey else {
            throw QueryFailure(
                .server,
                "the answer is encrypted",
                remedy: "set the resolver's aes_key"
            )
        }
        let plain = key.withDecodedHex { key in Self.opened(sealed, mode: number, key) }
        guard let plain, let content = try? JSONValue(parsing: plain, depthMax: 16) else {
            throw .undecryptable(checking: "aes_key")
        }
        return content
    }

    private static func opened(
        _ sealed: [UInt8],
        mode: Int,
        _ key: UnsafeRawBufferPointer
    ) -> [UInt8]? {
        switch mode {
        case 1:
            let count = BlockCipher.aesBlockBytes
            guard sealed.count > count else { return nil }
            let cipher = BlockCipher.aes128CBC(initialVector: Array(sealed.prefix(count)))
            return cipher.decrypt(Array(sealed.dropFirst(count)), key: key)
        case 2:
            let count = AESGCM.nonceBytes
            guard sealed.count > count else { return nil }
            let nonce = Array(sealed.prefix(count))
            return AESGCM.open(sealed.dropFirst(count), key: key, nonce: nonce, associated: [])
        default: return nil
        }
    }

    package func listQuery(at time: WallTime) -> ServerRequest? {
        // Version 1 signs with the text of the secret, as this call does in both versions.
        account.listQuery(at: time, nonce: hex(random(6)))
    }

    package func list(in answer: ServerAnswer) throws(QueryFailure) -> [ResolverServer] {
        try AlibabaAnswers.servers(in: answer, like: account.bootstrap)
    }
}

extension Secret {
    /// Lends the bytes that the text stands for in hexadecimal, and wipes them afterwards. The
    /// configuration checks the text; anything that is not hexadecimal counts as no key.
    fileprivate func withDecodedHex<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount / 2)
        withBytes { text in
            for place in stride(from: 0, to: text.count - 1, by: 2) {
                guard let high = hexValue(text[place]), let low = hexValue(text[place + 1]) else {
                    continue
                }
                bytes.append(high << 4 | low)
            }
        }
        defer { wipe(&bytes) }
        return bytes.withUnsafeBytes(body)
    }
}

/// The first version of Alibaba's HTTPDNS: names in plain text, signed with MD5.
package struct AlibabaV1: ResolverDialect {
    private let account: AlibabaAccount
    private let nonce: @Sendable () -> String

    package init(_ account: AlibabaAccount) {
        self.init(account) { hex(randomBytes(6)) }
    }

    init(_ account: AlibabaAccount, nonce: @escaping @Sendable () -> String) {
        self.account = account
        self.nonce = nonce
    }

    package var namesMax: Int { 5 }
    package var servers: [ResolverServer] { account.bootstrap }

    package func queries(for names: [String], at time: WallTime) -> [ServerRequest] {
        let hosts = names.joined(separator: ",")
        var query = [("host", hosts)]
        var call = names.count == 1 ? "d" : "resolve"
        if let secret = account.secret {
            let expiry = "\((time + AlibabaAccount.signatureLifetime).seconds)"
            query += [("t", expiry), ("s", AlibabaAccount.signature(hosts, secret, expiry))]
            call = "sign_\(call)"
        }
        query.append(("query", "4,6"))
        if let address = account.clientAddress { query.append(("ip", "\(address)")) }
        query += account.sortedParameters
        return [
            ServerRequest("/\(percentEncoded(account.id))/\(call)?\(AlibabaAccount.encoded(query))")
        ]
    }

    package func answers(
        in answer: ServerAnswer,
        to names: [String]
    ) throws(QueryFailure) -> [String: HostAnswer] {
        let value = try AlibabaAnswers.object(answer)
        guard let several = value["dns"] else {
            guard names.count == 1 else { throw .unreadable("the answer is for one host") }
            return [names[0]: try host(value)]
        }
        guard let elements = several.elements else { throw .unreadable("dns is not an array") }
        var found: [String: HostAnswer] = [:]
        for element in elements {
            guard let name = element["host"]?.text.map(HostName.canonical), names.contains(name)
            else { continue }
            found[name, default: HostAnswer()].merge(try host(element))
        }
        return found
    }

    private func host(_ value: JSONValue) throws(QueryFailure) -> HostAnswer {
        let seconds = value["ttl"]?.wholeNumber ?? 60
        var answer = HostAnswer()
        if let list = value["ips"] {
            // In a batch `ips` may be either family's.
            let isV4 = value["type"]?.wholeNumber != 28
            let family = try AlibabaAnswers.family(list, isV4: isV4, seconds: seconds)
            if isV4 { answer.v4 = family } else { answer.v6 = family }
        }
        if let list = value["ipsv6"] {
            answer.v6 = try AlibabaAnswers.family(list, isV4: false, seconds: seconds)
        }
        guard answer != HostAnswer() else { throw .unreadable("the answer has no ips") }
        return answer
    }

    package func listQuery(at time: WallTime) -> ServerRequest? {
        account.listQuery(at: time, nonce: nonce())
    }

    package func list(in answer: ServerAnswer) throws(QueryFailure) -> [ResolverServer] {
        try AlibabaAnswers.servers(in: answer, like: account.bootstrap)
    }
}
