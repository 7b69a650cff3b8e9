package import Crypto
import SLS
import System

/// Alibaba's RPC signature, version 1.0: HMAC-SHA1 over all parameters in order.
package enum RPCSignature {
    /// The value of the parameter `Signature`.
    package static func sign(
        _ method: String,
        _ parameters: [(name: String, value: String)],
        secret: Secret
    ) -> String {
        let text = stringToSign(method, parameters)
        return Digest.base64(secret.withKey(after: "&") { Digest.hmacSHA1(key: $0, text) })
    }

    static func stringToSign(
        _ method: String,
        _ parameters: [(name: String, value: String)]
    ) -> String {
        "\(method)&%2F&\(percentEncoded(query(parameters.sorted { $0.name < $1.name })))"
    }

    static func query(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { "\(percentEncoded($0.name))=\(percentEncoded($0.value))" }
            .joined(separator: "&")
    }
}
