import Crypto
import Net
import System

/// Tencent's HTTPDNS. It has no errors in words: a stranger gets an empty body.
extension SandboxResolver {
    private static let batchMax = 8

    /// How texts travel in both directions.
    private enum Cover {
        case none, des, aes
    }

    func tencent() throws(SLSRefusal) -> AnswerContent {
        try demand("GET", "POST")
        guard let cover = try cover() else { return .plain("") }
        let text = opened(try demanded("dn"), cover)
        return .plain(hidden(try text.map(lines) ?? "0", cover))
    }

    func tencentServers() throws(SLSRefusal) -> AnswerContent {
        try demand("GET", "POST")
        guard let cover = try cover() else { return .plain("") }
        return .plain(hidden("log:0|domain:0|ip:\(accounts.address);|ttl:60", cover))
    }

    /// nil for an account that it does not know.
    private func cover() throws(SLSRefusal) -> Cover? {
        if let token = request.parameter("token") {
            return Secret(token) == accounts.token ? Cover.none : nil
        }
        guard try demanded("id") == accounts.tencent else { return nil }
        switch request.parameter("alg") ?? "des" {
        case "des": return .des
        case "aes": return .aes
        default: return nil
        }
    }

    private func lines(_ text: String) throws(SLSRefusal) -> String {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false)
        if parts.count == 2, let expiry = Int64(parts[1]), expiry <= now.seconds {
            throw SLSRefusal(401, "SignatureExpired", "")
        }
        let hosts = parts[0].split(separator: ",").map(String.init)
        let isNamed = request.parameter("query") == "1"
        guard (1...Self.batchMax).contains(hosts.count), isNamed || hosts.count == 1,
            hosts.allSatisfy(ResolverZone.isHost)
        else { return "" }
        let lines = hosts.map { (isNamed ? "\($0).:" : "") + families(of: zone[$0]) }
        let client = request.parameter("clientip") == "1" ? "|\(Self.client)" : ""
        return lines.joined(separator: "\n") + client
    }

    private func families(of record: ResolverZone.Record) -> String {
        switch request.parameter("type")?.lowercased() {
        case "addrs": "\(set(record.v4, record))-\(set(record.v6, record))"
        case "aaaa": set(record.v6, record)
        default: set(record.v4, record)
        }
    }

    private func set(_ addresses: [IPAddress], _ record: ResolverZone.Record) -> String {
        guard !addresses.isEmpty else { return "0" }
        let time = request.parameter("ttl") == "1" ? ",\(record.seconds)" : ""
        return addresses.map { "\($0)" }.joined(separator: ";") + time
    }

    // MARK: - Ciphers

    /// nil if the text was not made with the account's key.
    private func opened(_ text: String, _ cover: Cover) -> String? {
        if cover == .none { return text }
        guard let bytes = hexDecoded(Array(text.utf8)[...]) else { return nil }
        let count = cover == .aes ? BlockCipher.aesBlockBytes : 0
        guard bytes.count > count else { return nil }
        let cipher = cipher(cover, vector: Array(bytes[..<count]))
        let plain = key(cipher).withUnsafeBytes { key in
            cipher.decrypt(Array(bytes[count...]), key: key)
        }
        return plain.flatMap { String(validating: $0, as: UTF8.self) }
    }

    private func hidden(_ text: String, _ cover: Cover) -> String {
        if cover == .none { return text }
        let vector = cover == .aes ? randomBytes(BlockCipher.aesBlockBytes) : []
        let cipher = cipher(cover, vector: vector)
        return key(cipher).withUnsafeBytes { key in
            hex(vector + cipher.encrypt(Array(text.utf8), key: key))
        }
    }

    private func cipher(_ cover: Cover, vector: [UInt8]) -> BlockCipher {
        cover == .aes ? .aes128CBC(initialVector: vector) : .des
    }

    private func key(_ cipher: BlockCipher) -> [UInt8] {
        accounts.tencentKey.withBytes { Array($0.prefix(cipher.keyBytes)) }
    }
}
