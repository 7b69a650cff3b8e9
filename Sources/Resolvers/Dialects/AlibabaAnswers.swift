import JSON
import Net
import System

/// What all of Alibaba's HTTPDNS answers have in common.
enum AlibabaAnswers {
    /// An object, or the failure that it tells. `successCode` is what version 2 calls one that is
    /// none.
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

    /// Addresses in an array; throws if one of them is none, because then nothing in the answer can
    /// be trusted.
    static func addresses(
        _ value: JSONValue?,
        of family: Family? = nil
    ) throws(QueryFailure) -> [IPAddress] {
        guard let value, value != .null else { return [] }
        guard let elements = value.elements else { throw .unreadable("addresses are not an array") }
        var found: [IPAddress] = []
        for element in elements {
            guard let address = element.text.flatMap({ IPAddress($0) }),
                family.map({ ($0 == .v4) == address.isV4 }) ?? true
            else { throw .unreadable("something in the answer is not an address of its family") }
            found.append(address)
        }
        return found
    }

    enum Family { case v4, v6 }

    /// `/ss`.
    static func servers(
        in answer: ServerAnswer,
        like known: [ResolverServer]
    ) throws(QueryFailure) -> [ResolverServer] {
        let value = try object(answer)
        let addresses =
            try addresses(value["service_ip"], of: .v4) + addresses(value["service_ipv6"], of: .v6)
        guard !addresses.isEmpty else { throw .unreadable("the list of servers is empty") }
        let model = known.first ?? AlibabaRegion.cn.servers[0]
        return addresses.prefix(HostAnswer.addressesMax).map { model.moved(to: $0) }
    }
}

extension ResolverServer {
    /// Another server of the same service.
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
