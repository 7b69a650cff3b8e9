import Crypto
import JSON
import Net
import System

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
            throw SLSRefusal(400, "MissingArgument", "m is 0, 1 or 2")
        }
        if mode != .plain, let name = signed.first(where: { !Self.openNames.contains($0.key) }) {
            throw SLSRefusal(400, "InvalidSignature", "\(name.key) belongs into enc")
        }
        let question = try question(mode)
        guard question.hosts.count <= 5 else {
            throw SLSRefusal(400, "TooManyHosts", "\(question.hosts.count) hosts")
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
            throw SLSRefusal(403, "InvalidSignature", "s does not fit these parameters: \(text)")
        }
    }

    private func question(_ mode: Mode) throws(SLSRefusal) -> Question {
        guard mode != .plain else {
            return try question { request.parameter($0) }
        }
        guard let text = hexDecoded(Array(try demanded("enc").utf8)[...]),
            let plain = opened(text, mode),
            let json = try? JSONValue(parsing: plain), case .object = json
        else { throw SLSRefusal(400, "MissingArgument", "enc is not JSON under the aes_key") }
        return try question { json[$0]?.text }
    }

    private func question(_ value: (String) -> String?) throws(SLSRefusal) -> Question {
        guard let hosts = value("dn"), !hosts.isEmpty else {
            throw SLSRefusal(400, "MissingArgument", "dn is missing")
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
                var inner = JSONWriter()
                inner.object { write(question, into: &$0) }
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
