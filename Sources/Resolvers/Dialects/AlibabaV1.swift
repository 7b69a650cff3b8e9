import Crypto
import JSON
import Net
package import System

/// The first version of Alibaba's HTTPDNS: names in plain text, signed with MD5.
package struct AlibabaV1: ResolverDialect {
    private let account: AlibabaAccount
    private let nonce: @Sendable () -> String

    /// How long a signature holds. The service allows a day.
    private static let signatureLifetime: Duration = .seconds(600)

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
            let expiry = "\((time + Self.signatureLifetime).seconds)"
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
            if value["type"]?.wholeNumber == 28 {
                answer.v6 = FamilyAnswer(
                    try AlibabaAnswers.addresses(list, of: .v6),
                    seconds: seconds
                )
            } else {
                answer.v4 = FamilyAnswer(
                    try AlibabaAnswers.addresses(list, of: .v4),
                    seconds: seconds
                )
            }
        }
        if let list = value["ipsv6"] {
            answer.v6 = FamilyAnswer(try AlibabaAnswers.addresses(list, of: .v6), seconds: seconds)
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
