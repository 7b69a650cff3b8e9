import Crypto
import SLS

extension ReceivedRequest {
    /// The date that a v1 signature covers: `x-log-date` if present, else `Date`.
    var dateV1: String? { self["x-log-date"] ?? self["date"] }

    /// The text that a v1 signature covers, built from the received request.
    func textToSignV1() -> String {
        var text = method
        text += "\n" + (self["content-md5"] ?? "")
        text += "\n" + (self["content-type"] ?? "")
        text += "\n" + (dateV1 ?? "") + "\n"
        let signed = fields.filter { field in
            field.name != "x-log-date"
                && (field.name.hasPrefix("x-log-") || field.name.hasPrefix("x-acs-"))
        }
        for field in signed.sorted(by: { Self.inByteOrder($0.name, $1.name) }) {
            text += field.name + ":" + field.value + "\n"
        }
        text += path
        if !query.isEmpty {
            let pairs = query.sorted { Self.inByteOrder($0.key, $1.key) }
            text += "?" + pairs.map { $0.key + "=" + $0.value }.joined(separator: "&")
        }
        return text
    }

    /// The signature that the owner of this secret would send.
    func signatureV1(secret: Secret) -> String {
        Digest.base64(
            Digest.hmacSHA1(key: Array(secret.revealed.utf8), Array(textToSignV1().utf8))
        )
    }

    /// Sorts names by their bytes; `String` itself compares by Unicode rules.
    static func inByteOrder(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}
