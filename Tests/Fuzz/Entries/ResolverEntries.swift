import Crypto
import Net

@testable import Resolvers
@testable import Sandbox

/// Reads the bytes as the answer of a resolver's server, which an attacker may have written.
private func keepsPromises(_ dialect: some ResolverDialect, _ bytes: [UInt8]) throws(Contradiction)
{
    let names = ["www.example.com", "a.b"]
    for status in [200, 403] {
        let answer = ServerAnswer(status: status, body: bytes, age: bytes.count)
        for asked in [names, [names[0]]] {
            guard let found = try? dialect.answers(in: answer, to: asked) else { continue }
            try check(status == 200, "taken for an answer with status \(status)")
            for (name, host) in found {
                try check(asked.contains(name), "an answer to a question about \(name)")
                try check(host.addresses.count <= HostAnswer.addressesMax, "many addresses")
                try check(host.v4?.addresses.allSatisfy(\.isV4) ?? true, "no IPv4")
                try check(host.v6?.addresses.allSatisfy { !$0.isV4 } ?? true, "IPv4")
                let time = host.timeToLive
                try check(time >= .zero && time <= .seconds(7 * 86_400), "a TTL of \(time)")
            }
        }
        guard let servers = try? dialect.list(in: answer) else { continue }
        try check(status == 200 && !servers.isEmpty, "a list of \(servers.count) servers")
    }
}

/// The first byte chooses version 1 or 2; both have the list of servers.
enum AlibabaEntry: FuzzEntry {
    static let name = "alibaba"

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard let first = bytes.first else { return }
        var account = AlibabaAccount(id: "100000")
        account.secret = Secret("00112233445566778899aabbccddeeff")
        account.aesKey = Secret("0123456789abcdef0123456789abcdef")
        account.version = first & 1 == 1 ? .v1 : .v2
        let rest = Array(bytes[1...])
        try account.version == .v1
            ? keepsPromises(AlibabaV1(account), rest) : keepsPromises(AlibabaV2(account), rest)
    }
}

/// The first byte chooses plain text, DES or AES.
enum TencentEntry: FuzzEntry {
    static let name = "tencent"

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard let first = bytes.first else { return }
        let key = Secret("0123456789abcdef")
        let access: TencentAccount.Access =
            switch first % 3 {
            case 0: .token(key)
            case 1: .des(id: "1", key: key)
            default: .aes(id: "1", key: key)
            }
        try keepsPromises(Tencent(TencentAccount(access)), Array(bytes[1...]))
    }
}

/// The answer of DNS over HTTPS in RFC 8484's form.
enum DNSMessageEntry: FuzzEntry {
    static let name = "dns-message"

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let server = ResolverServer(isEncrypted: true, name: "dns.example")
        try keepsPromises(DoH(DoHSettings(server: server, path: "/dns-query")), bytes)
    }
}

/// The same in Alibaba's JSON.
enum DNSJSONEntry: FuzzEntry {
    static let name = "dns-json"

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let server = ResolverServer(isEncrypted: true, name: "dns.example")
        try keepsPromises(AlibabaJSON(DoHSettings(server: server, path: "/resolve"), nil), bytes)
    }
}

/// A question to the sandbox. The gateway reads the sandbox's answer.
enum DNSQuestionEntry: FuzzEntry {
    static let name = "dns-question"

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        guard let question = try? DNSQuestion(bytes) else { return }
        let addresses = ["192.0.2.1", "2001:db8::1"].compactMap { IPAddress($0) }
        let answer = question.answer(ResolverZone.Record(addresses, seconds: 60))
        guard question.type == DNSQuestion.a || question.type == DNSQuestion.aaaa,
            HostName.isValid(question.host)
        else { return }
        let server = ResolverServer(isEncrypted: true, name: "dns.example")
        let dialect = DoH(DoHSettings(server: server, path: "/dns-query"))
        let name = HostName.canonical(question.host)
        let found = try? dialect.answers(in: ServerAnswer(status: 200, body: answer), to: [name])
        try check(found?[name]?.addresses.count == 1, "the sandbox's answer cannot be read")
    }
}
