package import Crypto
import JSON
package import Net
package import System

/// A server of DNS over HTTPS.
package struct DoHSettings: Sendable, Equatable {
    package var server: ResolverServer
    /// From the slash on, without a query.
    package var path: String
    /// Where to connect if the server's name is not to be looked up.
    package var addresses: [IPAddress] = []

    package init(server: ResolverServer, path: String) {
        self.server = server
        self.path = path
    }
}

/// DNS over HTTPS in the wire format of RFC 8484: a request a family.
package struct DoH: ResolverDialect {
    private let settings: DoHSettings

    package init(_ settings: DoHSettings) {
        self.settings = settings
    }

    package static let contentType = "application/dns-message"

    package var namesMax: Int { 1 }

    package var servers: [ResolverServer] {
        let server = settings.server
        guard !settings.addresses.isEmpty else { return [server] }
        return settings.addresses.map {
            ResolverServer(
                isEncrypted: server.isEncrypted,
                name: server.name,
                port: server.port,
                address: $0
            )
        }
    }

    package func queries(for names: [String], at time: WallTime) -> [ServerRequest] {
        [DNSMessage.RecordType.a, .aaaa].compactMap { type in
            guard let message = DNSMessage.query(names[0], type) else { return nil }
            let text = Digest.base64URL(message)
            return ServerRequest("\(settings.path)?dns=\(text)", accept: Self.contentType)
        }
    }

    /// The two answers differ in the type of their question only.
    package func answers(
        in answer: ServerAnswer,
        to names: [String]
    ) throws(QueryFailure) -> [String: HostAnswer] {
        guard answer.status == 200 else { throw Self.failure(answer.status) }
        let isV6 = Self.asksForV6(answer.body)
        let found = try DNSMessage.answer(in: answer.body, to: names[0], isV6 ? .aaaa : .a)
            .aged(answer.age)
        return [names[0]: isV6 ? HostAnswer(v6: found) : HostAnswer(v4: found)]
    }

    private static func failure(_ status: Int) -> QueryFailure {
        switch status {
        case 400, 404, 405, 415:
            QueryFailure(
                .query,
                "HTTP status \(status)",
                remedy: "check the resolver's url: it must be of a server of DNS over HTTPS"
            )
        case 401, 403:
            QueryFailure(.account, "HTTP status \(status)", remedy: "check the resolver's url")
        case 429:
            QueryFailure(.quota, "HTTP status 429", remedy: "use a server with a larger quota")
        default: .unreadable("HTTP status \(status)")
        }
    }

    /// The type in the question, which follows the name behind the head.
    private static func asksForV6(_ message: [UInt8]) -> Bool {
        var place = 12
        while place < message.count, message[place] != 0 { place += Int(message[place]) + 1 }
        return place + 2 < message.count && message[place + 1] == 0 && message[place + 2] == 28
    }
}

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
        let records = (value["Answer"]?.elements ?? []).filter { $0["type"]?.wholeNumber != nil }
        let addresses = records.filter { $0["type"]?.wholeNumber == Int(type.rawValue) }
            .map { $0["data"] ?? .null }
        let seconds = records.map { $0["TTL"]?.wholeNumber ?? 0 }.min() ?? 0
        let family = try AlibabaAnswers.family(.array(addresses), isV4: !isV6, seconds: seconds)
            .aged(answer.age)
        return [names[0]: isV6 ? HostAnswer(v6: family) : HostAnswer(v4: family)]
    }
}
