package import Crypto
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

    var bootstrap: [ResolverServer] { servers.isEmpty ? region.servers : servers }

    /// `/ss`, in which both versions are the same. The server chooses the list by the sender's
    /// address.
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
