package import Crypto
import JSON
package import Net
import System

/// An account of Alibaba Cloud's HTTPDNS, and how it wants to be asked.
package struct AlibabaAccount: Sendable, Equatable {
    package enum Version: String, Sendable, CaseIterable { case v1, v2 }

    /// How the names in a query of version 2 travel.
    package enum Encryption: String, Sendable, CaseIterable { case gcm, cbc }

    package var id: String
    /// Signs each query. Without one the service must allow unsigned queries.
    package var secret: Secret?
    /// 16 bytes, for version 2.
    package var aesKey: Secret?
    package var encryption = Encryption.gcm
    package var version = Version.v2
    /// Servers in place of the region's.
    package var servers: [ResolverServer] = []
    package var region = AlibabaRegion.cn
    /// Asks for the answer that a client at this address would get.
    package var clientAddress: IPAddress?
    /// Parameters of the service's own resolution, without their prefix `sdns-`.
    package var parameters: [String: String] = [:]

    package init(id: String) {
        self.id = id
    }

    /// What the certificates of the service's addresses are for.
    package static let certificateName = "resolvers.httpdns.aliyuncs.com"
    package static let parametersBytesMax = 1000
    /// How long a signature holds. The service allows a day.
    static let signatureLifetime: Duration = .seconds(600)

    var bootstrap: [ResolverServer] { servers.isEmpty ? region.servers : servers }

    /// `/ss`, the same in both versions. The server chooses the list by the sender's address.
    func listQuery(at time: WallTime, nonce: String) -> ServerRequest {
        var query: [(String, String)] = [("region", "global")]
        if let secret {
            let text = "\(time.seconds)"
            let signature = Self.signature("\(nonce)", secret, text)
            query += [("n", nonce), ("t", text), ("s", signature)]
        }
        return ServerRequest("/\(percentEncoded(id))/ss?\(Self.encoded(query))")
    }

    /// Of version 1 and of `/ss`.
    static func signature(_ subject: String, _ secret: Secret, _ time: String) -> String {
        secret.withKey(before: "\(subject)-", after: "-\(time)") { hex(Digest.md5($0)) }
    }

    static func encoded(_ query: [(String, String)]) -> String {
        query.map { "\($0.0)=\(percentEncoded($0.1))" }.joined(separator: "&")
    }

    var sortedParameters: [(String, String)] {
        parameters.sorted { $0.key < $1.key }.map { ("sdns-\($0.key)", $0.value) }
    }
}

/// The service's regions, with the servers to begin with.
package enum AlibabaRegion: String, Sendable, CaseIterable {
    case cn, hk, sg, de, us

    var servers: [ResolverServer] {
        let addresses = (v4 + v6).compactMap { IPAddress($0) }
        return addresses.map { address in
            ResolverServer(
                isEncrypted: true,
                name: AlibabaAccount.certificateName,
                address: address
            )
        } + [ResolverServer(isEncrypted: true, name: "resolvers-\(rawValue).httpdns.aliyuncs.com")]
    }

    private var v4: [String] {
        switch self {
        case .cn:
            [
                "203.107.1.1", "203.107.1.97", "203.107.1.100", "203.119.238.240",
                "106.11.25.239", "59.82.99.47",
            ]
        case .hk: ["47.56.234.194", "47.56.119.115"]
        case .sg: ["161.117.200.122", "47.74.222.190"]
        case .de: ["47.89.80.182", "47.246.146.77"]
        case .us: ["47.246.131.175", "47.246.131.141"]
        }
    }

    private var v6: [String] {
        switch self {
        case .cn:
            [
                "2401:b180:7001::31d", "2408:4003:1f40::30a", "2401:b180:2000:20::10",
                "2401:b180:2000:30::1c",
            ]
        case .hk, .sg: ["240b:4000:f10::178", "240b:4000:f10::188"]
        case .de: ["2404:2280:3000::176", "2404:2280:3000::188"]
        case .us: ["2404:2280:4000::2bb", "2404:2280:4000::23e"]
        }
    }
}

/// What all of Alibaba's HTTPDNS answers have in common.
enum AlibabaAnswers {
    /// An object, or the failure that it tells. `successCode` is no failure in version 2.
    static func object(
        _ answer: ServerAnswer,
        successCode: String? = nil
    ) throws(QueryFailure) -> JSONValue {
        let value: JSONValue
        do throws(JSONProblem) {
            value = try JSONValue(parsing: answer.body, depthMax: 16)
        } catch {
            throw answer.status == 200
                ? .unreadable("the answer is not JSON")
                : .unreadable("HTTP status \(answer.status)")
        }
        guard case .object = value else { throw .unreadable("the answer is not a JSON object") }
        let code = value["code"]?.text
        guard answer.status == 200, code == nil || code == successCode else {
            throw failure(code ?? "HTTP status \(answer.status)")
        }
        return value
    }

    private static func failure(_ code: String) -> QueryFailure {
        switch code {
        case "SignatureExpired", "InvalidDuration":
            return QueryFailure(.clock, code, remedy: "set this machine's clock")
        case "InvalidSignature":
            return QueryFailure(.account, code, remedy: "check the resolver's secret and aes_key")
        case "UnsignedInterfaceDisabled":
            return QueryFailure(.account, code, remedy: "set the resolver's secret")
        case "InvalidAccount", "AccountNotExists":
            return QueryFailure(.account, code, remedy: "check the resolver's account")
        case "SdnsNotSupported":
            return QueryFailure(.account, code, remedy: "remove the resolver's parameters")
        case "LimitExceeded":
            return QueryFailure(.quota, code, remedy: "buy more queries, or raise names.ttl_min")
        case "InvalidHost":
            let remedy = "add the host to the account's domains in the console of HTTPDNS"
            return QueryFailure(.query, code, remedy: remedy)
        case "MissingArgument", "TooManyHosts", "MethodNotAllowed":
            return QueryFailure(.query, code, remedy: "this is a fault of Sluice: please report it")
        default: return .unreadable(String(code.prefix(64)))
        }
    }

    /// Addresses of a family in an array. If one of them is none, nothing in the answer can be
    /// trusted.
    static func family(
        _ value: JSONValue?,
        isV4: Bool,
        seconds: Int = 0
    ) throws(QueryFailure) -> FamilyAnswer {
        let isThere = value.map { $0 != .null } ?? false
        guard let elements = isThere ? value?.elements : [] else {
            throw .unreadable("addresses are not an array")
        }
        let found = elements.compactMap { $0.text.flatMap { IPAddress($0) } }
        guard found.count == elements.count else {
            throw .unreadable("something in the answer is not an address of its family")
        }
        return try FamilyAnswer(found, seconds: seconds).checked(isV4: isV4)
    }

    /// `/ss`.
    static func servers(
        in answer: ServerAnswer,
        like known: [ResolverServer]
    ) throws(QueryFailure) -> [ResolverServer] {
        let value = try object(answer)
        let addresses =
            try family(value["service_ip"], isV4: true).addresses
            + family(value["service_ipv6"], isV4: false).addresses
        guard !addresses.isEmpty else { throw .unreadable("the list of servers is empty") }
        let model = known.first ?? AlibabaRegion.cn.servers[0]
        return addresses.prefix(HostAnswer.addressesMax).map { model.moved(to: $0) }
    }
}

extension ResolverServer {
    func moved(to address: IPAddress) -> ResolverServer {
        let isNamed = isEncrypted && (self.address != nil || IPAddress(name) == nil)
        return ResolverServer(
            isEncrypted: isEncrypted,
            name: isNamed ? name : "\(address)",
            port: port,
            address: isNamed ? address : nil
        )
    }
}
