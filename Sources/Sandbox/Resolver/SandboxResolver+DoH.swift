import Crypto
import JSON
import Net
import System

/// DNS over HTTPS: RFC 8484, and Alibaba's form in JSON.
extension SandboxResolver {
    private static let messageType = "application/dns-message"

    func dnsMessage(_ body: UnsafeRawBufferPointer) throws(SLSRefusal) -> AnswerContent {
        try demand("GET", "POST")
        var message = Array(body)
        if request.method == "GET" {
            let text = Array(try demanded("dns").utf8)
            guard let bytes = base64Decoded(text[...], .url) else {
                throw SLSRefusal(400, "BadMessage", "dns is not base64url without padding")
            }
            message = bytes
        } else if request["content-type"] != Self.messageType {
            throw SLSRefusal(415, "BadMessage", "the type is not \(Self.messageType)")
        }
        let question = try DNSQuestion(message)
        return AnswerContent(
            body: question.answer(zone[question.host]),
            type: Self.messageType
        )
    }

    func dnsJSON() throws(SLSRefusal) -> AnswerContent {
        try demand("GET")
        let name = try demanded("name")
        guard ResolverZone.isHost(name) else {
            throw SLSRefusal(400, "InvalidHost", "\(name.prefix(100)) is not a host")
        }
        try checkKey(name)
        let type: UInt16 =
            switch request.parameter("type")?.uppercased() {
            case nil, "A", "1": DNSQuestion.a
            case "AAAA", "28": DNSQuestion.aaaa
            case let other?:
                throw SLSRefusal(400, "MissingArgument", "type \(other.prefix(20)) is unknown")
            }
        let record = zone[name]
        let addresses = type == DNSQuestion.a ? record.v4 : record.v6
        var json = JSONWriter()
        if request.parameter("short") == "1" {
            json.array { json in addresses.forEach { json.element("\($0)") } }
            return AnswerContent(body: json.bytes)
        }
        json.object { json in
            json.member("Status", record.v4.isEmpty && record.v6.isEmpty ? 3 : 0)
            for (flag, isSet) in [("TC", false), ("RD", true), ("RA", true), ("AD", false)] {
                json.member(flag, isSet)
            }
            json.object("Question") { json in
                json.member("name", "\(ResolverZone.canonical(name)).")
                json.member("type", type)
            }
            json.objects("Answer", addresses) { json, address in
                json.member("name", "\(ResolverZone.canonical(name)).")
                json.member("TTL", record.seconds)
                json.member("type", type)
                json.member("data", "\(address)")
            }
        }
        return AnswerContent(body: json.bytes)
    }

    /// The public service wants no account. One that is given must be right.
    private func checkKey(_ name: String) throws(SLSRefusal) {
        guard let user = request.parameter("uid") else { return }
        try checkAccount(user)
        let (key, time) = (try demanded("ak"), try seconds("ts"))
        let right = Digest.sha256Hex("\(user)\(accounts.secret.revealed)\(time)\(name)\(key)")
        guard Digest.areEqual(Array(right.utf8), Array(try demanded("key").utf8)) else {
            throw SLSRefusal(403, "InvalidSignature", "key does not fit uid, secret, ts, name, ak")
        }
        guard abs(now.seconds - time) < 600 else {
            throw SLSRefusal(403, "SignatureExpired", "ts is \(time), here it is \(now.seconds)")
        }
    }
}
