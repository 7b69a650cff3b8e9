import Crypto
import HTTP
import Net
import System

/// Answers one request to a look-alike of a resolver. It reads the protocols by itself and shares
/// nothing with the gateway's side of them but ciphers, digests and encodings, so that a mistake in
/// one shows in the other.
struct SandboxResolver {
    /// The client's address in answers, unless the query asks for another client's.
    static let client = "127.0.0.1"

    let accounts: ResolverAccounts
    let zone: ResolverZone
    let now: WallTime
    let request: ReceivedRequest

    func answer(
        _ call: ResolverCall,
        body: UnsafeRawBufferPointer
    ) throws(SLSRefusal) -> AnswerContent {
        switch call {
        case .alibabaV1(let account, let isBatch, let isSigned):
            try alibabaV1(account, isBatch: isBatch, isSigned: isSigned)
        case .alibabaV2: try alibabaV2()
        case .alibabaServers(let account): try alibabaServers(account)
        case .tencent: try tencent()
        case .tencentServers: try tencentServers()
        case .dnsMessage: try dnsMessage(body)
        case .dnsJSON: try dnsJSON()
        }
    }

    func demand(_ methods: String...) throws(SLSRefusal) {
        guard methods.contains(request.method) else {
            throw SLSRefusal(405, "MethodNotAllowed", "only \(methods.joined(separator: ", "))")
        }
    }

    func demanded(_ name: String) throws(SLSRefusal) -> String {
        guard let value = request.parameter(name), !value.isEmpty else {
            throw SLSRefusal(400, "MissingArgument", "\(name) is missing")
        }
        return value
    }

    /// A time in whole seconds.
    func seconds(_ name: String) throws(SLSRefusal) -> Int64 {
        let text = try demanded(name)
        guard text.utf8.count <= 10, let seconds = Int64(text), seconds >= 0 else {
            throw SLSRefusal(403, "InvalidDuration", "\(name) is \(text), not unix seconds")
        }
        return seconds
    }
}
