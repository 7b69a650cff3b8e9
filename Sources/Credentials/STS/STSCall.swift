import Crypto
import SLS
import System

/// One call to STS.
struct STSCall: CustomStringConvertible, CustomReflectable {
    let action: String
    /// The subject of the action, for messages: a role.
    let subject: String
    let form: [(name: String, value: String)]
    /// nil: the call is unsigned, and the form proves the caller.
    var caller: Credential?
    /// A secret in the form, to be redacted besides the caller's.
    var proof: Secret?

    var origin: String { "STS \(action) \(subject)" }

    /// The query holds the common parameters and the form the others; the signature covers both.
    func url(endpoint: String, time: WallTime, nonce: String) -> String {
        var query = [
            (name: "Action", value: action), ("Version", "2015-04-01"), ("Format", "JSON"),
            ("Timestamp", time.iso8601),
        ]
        if let caller {
            query += [
                ("SignatureMethod", "HMAC-SHA1"), ("SignatureVersion", "1.0"),
                ("SignatureNonce", nonce), ("AccessKeyId", caller.accessKeyID),
            ]
            if let token = caller.securityToken { query.append(("SecurityToken", token.revealed)) }
            let signature = RPCSignature.sign("POST", query + form, secret: caller.secret)
            query.append(("Signature", signature))
        }
        return "\(endpoint)/?\(RPCSignature.query(query))"
    }

    /// The form may hold a token.
    var description: String { origin }
    var customMirror: Mirror { Mirror(self, children: ["subject": subject]) }

    /// What STS may echo.
    var secrets: [Secret] { (caller?.secrets ?? []) + [proof].compactMap(\.self) }
}
