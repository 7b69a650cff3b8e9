package import Crypto
import JSON
import Net
package import System

/// Alibaba's public DNS in JSON, `/resolve`: like DNS over HTTPS, with an account if there is one.
package struct AlibabaJSON: ResolverDialect {
    /// An account of the public DNS, whose key signs each query.
    package struct Account: Sendable, Equatable {
        package var user: String
        package var key: String
        package var secret: Secret

        package init(user: String, key: String, secret: Secret) {
            self.user = user
            self.key = key
            self.secret = secret
        }
    }

    private let settings: DoHSettings
    private let account: Account?

    package init(_ settings: DoHSettings, _ account: Account?) {
        self.settings = settings
        self.account = account
    }

    package var namesMax: Int { 1 }
    package var servers: [ResolverServer] { DoH(settings).servers }

    package func queries(for names: [String], at time: WallTime) -> [ServerRequest] {
        [DNSMessage.RecordType.a, .aaaa].map { type in
            var query = [("name", names[0]), ("type", "\(type.rawValue)")]
            if let account { query += Self.proof(account, names[0], "\(time.seconds)") }
            return ServerRequest("\(settings.path)?\(AlibabaAccount.encoded(query))")
        }
    }

    private static func proof(
        _ account: Account,
        _ name: String,
        _ time: String
    ) -> [(String, String)] {
        let key = account.secret.withKey(
            before: account.user,
            after: "\(time)\(name)\(account.key)"
        ) { hex(Digest.sha256($0)) }
        return [("uid", account.user), ("ak", account.key), ("ts", time), ("key", key)]
    }

    package func answers(
        in answer: ServerAnswer,
        to names: [String]
    ) throws(QueryFailure) -> [String: HostAnswer] {
        let value = try AlibabaAnswers.object(answer)
        switch value["Status"]?.wholeNumber {
        case 0, 3: break
        case let status: throw .unreadable("DNS status \(status.map { "\($0)" } ?? "missing")")
        }
        let question = value["Question"]?.elements?.first ?? value["Question"]
        let isV6 = question?["type"]?.wholeNumber == Int(DNSMessage.RecordType.aaaa.rawValue)
        let type = isV6 ? DNSMessage.RecordType.aaaa : .a
        var addresses: [IPAddress] = []
        var seconds: [Int] = []
        for record in value["Answer"]?.elements ?? [] {
            guard let found = record["type"]?.wholeNumber else { continue }
            seconds.append(record["TTL"]?.wholeNumber ?? 0)
            guard found == Int(type.rawValue) else { continue }
            guard let address = record["data"]?.text.flatMap({ IPAddress($0) }),
                address.isV4 != isV6
            else { throw .unreadable("something in the answer is not an address of its family") }
            addresses.append(address)
        }
        var family = FamilyAnswer(addresses, seconds: seconds.min() ?? 0)
        family.timeToLive = max(.zero, family.timeToLive - .seconds(max(0, answer.age)))
        return [names[0]: isV6 ? HostAnswer(v6: family) : HostAnswer(v4: family)]
    }
}
